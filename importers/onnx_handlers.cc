#include "importers/onnx_handlers.h"

namespace intaglio::importers {
namespace {

struct Entry {
  const char* op_type;
  OnnxHandler handler;
};

constexpr Entry kHandlers[] = {
    {"Abs", import_onnx_unary},
    {"Add", import_onnx_add},
    {"AveragePool", import_onnx_average_pool},
    {"BatchNormalization", import_onnx_batch_normalization},
    {"Clip", import_onnx_clip},
    {"Concat", import_onnx_concat},
    {"Constant", import_onnx_constant},
    {"Conv", import_onnx_conv},
    {"DequantizeLinear", import_onnx_dequantize_linear},
    {"Div", import_onnx_div},
    {"Dropout", import_onnx_identity},
    {"Exp", import_onnx_unary},
    {"Flatten", import_onnx_flatten},
    {"Gather", import_onnx_gather},
    {"Gemm", import_onnx_gemm},
    {"GlobalAveragePool", import_onnx_global_average_pool},
    {"HardSigmoid", import_onnx_hard_sigmoid},
    {"HardSwish", import_onnx_unary},
    {"Identity", import_onnx_identity},
    {"LeakyRelu", import_onnx_leaky_relu},
    {"MatMul", import_onnx_mat_mul},
    {"MaxPool", import_onnx_max_pool},
    {"Mul", import_onnx_mul},
    {"Pad", import_onnx_pad},
    {"PRelu", import_onnx_prelu},
    {"QuantizeLinear", import_onnx_quantize_linear},
    {"ReduceMean", import_onnx_reduce_mean},
    {"Relu", import_onnx_relu},
    {"Reshape", import_onnx_reshape},
    {"Resize", import_onnx_resize},
    {"Shape", import_onnx_shape},
    {"Sigmoid", import_onnx_unary},
    {"Slice", import_onnx_slice},
    {"Softmax", import_onnx_softmax},
    {"Split", import_onnx_split},
    {"Squeeze", import_onnx_squeeze},
    {"Sub", import_onnx_sub},
    {"Tanh", import_onnx_unary},
    {"Transpose", import_onnx_transpose},
    {"Unsqueeze", import_onnx_unsqueeze},
    {"Upsample", import_onnx_upsample},
};

}  // namespace

OnnxHandler find_onnx_handler(const std::string& op_type) {
  for (const Entry& entry : kHandlers)
    if (op_type == entry.op_type) return entry.handler;
  return nullptr;
}

}  // namespace intaglio::importers
