// What the importer does with each ONNX operator. To add one: its handler in the family's file, its line in
// onnx_handlers.cc.
#pragma once

#include "importers/onnx/onnx_op.h"

namespace intaglio::importers {

using OnnxHandler = void (*)(OnnxOp& op);

OnnxHandler find_onnx_handler(const std::string& domain,
                              const std::string& op_type);  // nullptr: not supported

inline bool is_standard_onnx(const std::string& domain) { return domain.empty() || domain == "ai.onnx"; }

// Every operator that is imported, in any form; one may stand twice. `domain` "": ONNX's own.
struct OnnxOperator {
  std::string domain, op_type;
};
std::vector<OnnxOperator> onnx_operators();

void import_onnx_add(OnnxOp& op);
void import_onnx_average_pool(OnnxOp& op);
void import_onnx_batch_normalization(OnnxOp& op);
void import_onnx_cast(OnnxOp& op);
void import_onnx_clip(OnnxOp& op);
void import_onnx_concat(OnnxOp& op);
void import_onnx_constant(OnnxOp& op);
void import_onnx_conv(OnnxOp& op);
void import_onnx_depth_to_space(OnnxOp& op);
void import_onnx_dequantize_linear(OnnxOp& op);
void import_onnx_div(OnnxOp& op);
void import_onnx_elu(OnnxOp& op);
void import_onnx_expand(OnnxOp& op);
void import_onnx_fake_quantize(OnnxOp& op);  // of OpenVINO
void import_onnx_flatten(OnnxOp& op);
void import_onnx_gather(OnnxOp& op);
void import_onnx_gelu(OnnxOp& op);
void import_onnx_gemm(OnnxOp& op);
void import_onnx_global_average_pool(OnnxOp& op);
void import_onnx_global_max_pool(OnnxOp& op);
void import_onnx_hard_sigmoid(OnnxOp& op);
void import_onnx_identity(OnnxOp& op);  // Dropout too
void import_onnx_leaky_relu(OnnxOp& op);
void import_onnx_lp_normalization(OnnxOp& op);
void import_onnx_mat_mul(OnnxOp& op);
void import_onnx_max(OnnxOp& op);
void import_onnx_max_pool(OnnxOp& op);
void import_onnx_min(OnnxOp& op);
void import_onnx_mul(OnnxOp& op);
void import_onnx_neg(OnnxOp& op);
void import_onnx_pad(OnnxOp& op);
void import_onnx_pow(OnnxOp& op);
void import_onnx_prelu(OnnxOp& op);
void import_onnx_quantize_linear(OnnxOp& op);
void import_onnx_reduce_max(OnnxOp& op);
void import_onnx_reduce_mean(OnnxOp& op);
void import_onnx_reduce_norm(OnnxOp& op);  // ReduceL1, ReduceL2, ReduceSumSquare
void import_onnx_reduce_sum(OnnxOp& op);
void import_onnx_relu(OnnxOp& op);
void import_onnx_reshape(OnnxOp& op);
void import_onnx_resize(OnnxOp& op);
void import_onnx_shape(OnnxOp& op);
void import_onnx_size(OnnxOp& op);
void import_onnx_slice(OnnxOp& op);
void import_onnx_softmax(OnnxOp& op);
void import_onnx_space_to_depth(OnnxOp& op);
void import_onnx_split(OnnxOp& op);
void import_onnx_squeeze(OnnxOp& op);
void import_onnx_sub(OnnxOp& op);
void import_onnx_sum(OnnxOp& op);
void import_onnx_tile(OnnxOp& op);
void import_onnx_transpose(OnnxOp& op);
void import_onnx_unary(OnnxOp& op);  // without attributes: Sigmoid, Sqrt, ...
void import_onnx_unsqueeze(OnnxOp& op);
void import_onnx_upsample(OnnxOp& op);

// An operator of constants alone, as shape arithmetic has it, becomes a constant; false where it is none that
// can be.
bool fold_onnx_constants(OnnxOp& op);
void add_folded_operators(std::vector<OnnxOperator>& list);

// A slice of each axis: first index and step, and how many that gives (none: 0).
struct OnnxSlice {
  std::vector<int32_t> begin, strides;
  Shape shape;
};
OnnxSlice read_onnx_slice(OnnxOp& op, const Shape& from);

// The sizes of a Split's outputs along its axis; they add up.
struct OnnxParts {
  size_t axis = 0;
  std::vector<int32_t> sizes;
};
OnnxParts read_onnx_parts(OnnxOp& op, const Shape& from);

// Reads what the tensors of a graph keep in files of this folder into them.
void load_external_data(onnx_file::GraphProto& graph, const std::string& folder);

// The nodes that a quantized operator (QLinearConv, ...) stands for; none where it is not one.
std::vector<onnx_file::NodeProto> spell_out_quantized(const onnx_file::NodeProto& node);
void add_quantized_operators(std::vector<OnnxOperator>& list);

// x times one number; x times x.
int32_t add_scaled(OnnxOp& op, int32_t x, float factor);
int32_t add_square(OnnxOp& op, int32_t x);

// Height and width of a window from the attributes, pads from `auto_pad` and the picture's size.
struct OnnxWindow {
  WindowAxis h, w;
};
OnnxWindow read_onnx_window(OnnxOp& op, const Shape& nhwc, int32_t kernel_h, int32_t kernel_w);

}  // namespace intaglio::importers
