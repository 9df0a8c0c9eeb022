// What the importer does with each ONNX operator. To add one: its handler in the family's file, its line in
// onnx_handlers.cc.
#pragma once

#include "importers/onnx_op.h"

namespace intaglio::importers {

using OnnxHandler = void (*)(OnnxOp& op);

OnnxHandler find_onnx_handler(const std::string& op_type);  // nullptr: not supported

void import_onnx_add(OnnxOp& op);
void import_onnx_average_pool(OnnxOp& op);
void import_onnx_batch_normalization(OnnxOp& op);
void import_onnx_clip(OnnxOp& op);
void import_onnx_constant(OnnxOp& op);
void import_onnx_conv(OnnxOp& op);
void import_onnx_flatten(OnnxOp& op);
void import_onnx_gemm(OnnxOp& op);
void import_onnx_global_average_pool(OnnxOp& op);
void import_onnx_identity(OnnxOp& op);  // Dropout too
void import_onnx_mat_mul(OnnxOp& op);
void import_onnx_max_pool(OnnxOp& op);
void import_onnx_pad(OnnxOp& op);
void import_onnx_reduce_mean(OnnxOp& op);
void import_onnx_relu(OnnxOp& op);
void import_onnx_reshape(OnnxOp& op);
void import_onnx_softmax(OnnxOp& op);
void import_onnx_squeeze(OnnxOp& op);
void import_onnx_transpose(OnnxOp& op);
void import_onnx_unsqueeze(OnnxOp& op);

// Height and width of a window from the attributes, pads from `auto_pad` and the picture's size.
struct OnnxWindow {
  WindowAxis h, w;
};
OnnxWindow read_onnx_window(OnnxOp& op, const Shape& nhwc, int32_t kernel_h, int32_t kernel_w);

}  // namespace intaglio::importers
