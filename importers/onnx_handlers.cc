#include "importers/onnx_handlers.h"

namespace intaglio::importers {
namespace {

struct Entry {
  const char* op_type;
  OnnxHandler handler;
};

constexpr Entry kHandlers[] = {
    {"Add", import_onnx_add},
    {"AveragePool", import_onnx_average_pool},
    {"BatchNormalization", import_onnx_batch_normalization},
    {"Clip", import_onnx_clip},
    {"Constant", import_onnx_constant},
    {"Conv", import_onnx_conv},
    {"Dropout", import_onnx_identity},
    {"Flatten", import_onnx_flatten},
    {"Gemm", import_onnx_gemm},
    {"GlobalAveragePool", import_onnx_global_average_pool},
    {"Identity", import_onnx_identity},
    {"MatMul", import_onnx_mat_mul},
    {"MaxPool", import_onnx_max_pool},
    {"Pad", import_onnx_pad},
    {"ReduceMean", import_onnx_reduce_mean},
    {"Relu", import_onnx_relu},
    {"Reshape", import_onnx_reshape},
    {"Softmax", import_onnx_softmax},
    {"Squeeze", import_onnx_squeeze},
    {"Transpose", import_onnx_transpose},
    {"Unsqueeze", import_onnx_unsqueeze},
};

}  // namespace

OnnxHandler find_onnx_handler(const std::string& op_type) {
  for (const Entry& entry : kHandlers)
    if (op_type == entry.op_type) return entry.handler;
  return nullptr;
}

}  // namespace intaglio::importers
