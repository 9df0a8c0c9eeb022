#include "importers/onnx/onnx_handlers.h"

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
    {"Cast", import_onnx_cast},
    {"Clip", import_onnx_clip},
    {"Concat", import_onnx_concat},
    {"Constant", import_onnx_constant},
    {"Conv", import_onnx_conv},
    {"DepthToSpace", import_onnx_depth_to_space},
    {"DequantizeLinear", import_onnx_dequantize_linear},
    {"Div", import_onnx_div},
    {"Dropout", import_onnx_identity},
    {"Elu", import_onnx_elu},
    {"Erf", import_onnx_unary},
    {"Exp", import_onnx_unary},
    {"Expand", import_onnx_expand},
    {"Flatten", import_onnx_flatten},
    {"Gather", import_onnx_gather},
    {"Gelu", import_onnx_gelu},
    {"Gemm", import_onnx_gemm},
    {"GlobalAveragePool", import_onnx_global_average_pool},
    {"GlobalMaxPool", import_onnx_global_max_pool},
    {"HardSigmoid", import_onnx_hard_sigmoid},
    {"HardSwish", import_onnx_unary},
    {"Identity", import_onnx_identity},
    {"LeakyRelu", import_onnx_leaky_relu},
    {"Log", import_onnx_unary},
    {"LpNormalization", import_onnx_lp_normalization},
    {"MatMul", import_onnx_mat_mul},
    {"Max", import_onnx_max},
    {"MaxPool", import_onnx_max_pool},
    {"Min", import_onnx_min},
    {"Mish", import_onnx_unary},
    {"Mul", import_onnx_mul},
    {"Neg", import_onnx_neg},
    {"PRelu", import_onnx_prelu},
    {"Pad", import_onnx_pad},
    {"Pow", import_onnx_pow},
    {"QuantizeLinear", import_onnx_quantize_linear},
    {"Reciprocal", import_onnx_unary},
    {"ReduceL1", import_onnx_reduce_norm},
    {"ReduceL2", import_onnx_reduce_norm},
    {"ReduceMax", import_onnx_reduce_max},
    {"ReduceMean", import_onnx_reduce_mean},
    {"ReduceSum", import_onnx_reduce_sum},
    {"ReduceSumSquare", import_onnx_reduce_norm},
    {"Relu", import_onnx_relu},
    {"Reshape", import_onnx_reshape},
    {"Resize", import_onnx_resize},
    {"Shape", import_onnx_shape},
    {"Sigmoid", import_onnx_unary},
    {"Size", import_onnx_size},
    {"Slice", import_onnx_slice},
    {"Softmax", import_onnx_softmax},
    {"Softplus", import_onnx_unary},
    {"SpaceToDepth", import_onnx_space_to_depth},
    {"Split", import_onnx_split},
    {"Sqrt", import_onnx_unary},
    {"Squeeze", import_onnx_squeeze},
    {"Sub", import_onnx_sub},
    {"Sum", import_onnx_sum},
    {"Tanh", import_onnx_unary},
    {"Tile", import_onnx_tile},
    {"Transpose", import_onnx_transpose},
    {"Unsqueeze", import_onnx_unsqueeze},
    {"Upsample", import_onnx_upsample},
};

constexpr struct {
  const char* domain;
  Entry entry;
} kOfOtherDomains[] = {
    {"com.microsoft", {"DequantizeLinear", import_onnx_dequantize_linear}},
    {"com.microsoft", {"FastGelu", import_onnx_gelu}},
    {"com.microsoft", {"Gelu", import_onnx_gelu}},
    {"com.microsoft", {"QuantizeLinear", import_onnx_quantize_linear}},
    {"org.openvinotoolkit", {"FakeQuantize", import_onnx_fake_quantize}},
};

}  // namespace

OnnxHandler find_onnx_handler(const std::string& domain, const std::string& op_type) {
  for (const auto& other : kOfOtherDomains)
    if (domain == other.domain && op_type == other.entry.op_type) return other.entry.handler;
  if (!is_standard_onnx(domain)) return nullptr;
  for (const Entry& entry : kHandlers)
    if (op_type == entry.op_type) return entry.handler;
  return nullptr;
}

std::vector<OnnxOperator> onnx_operators() {
  std::vector<OnnxOperator> list;
  for (const Entry& entry : kHandlers) list.push_back({"", entry.op_type});
  for (const auto& other : kOfOtherDomains) list.push_back({other.domain, other.entry.op_type});
  add_quantized_operators(list);
  add_folded_operators(list);
  return list;
}

}  // namespace intaglio::importers
