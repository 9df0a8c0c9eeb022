// What the importer does with each TFLite operator. To add one: its handler in the family's file, its line in
// tflite_handlers.cc.
#pragma once

#include "importers/tflite/tflite_op.h"

namespace intaglio::importers {

using TfliteHandler = void (*)(TfliteOp& op);

TfliteHandler find_tflite_handler(int32_t builtin_code);  // nullptr: not supported
std::string tflite_operator_name(int32_t builtin_code);   // "CONV_2D"
std::vector<int32_t> tflite_operators();  // every code that is imported, in any form; none stands twice

void import_tflite_abs(TfliteOp& op);
void import_tflite_add(TfliteOp& op);
void import_tflite_average_pool_2d(TfliteOp& op);
void import_tflite_batch_to_space(TfliteOp& op);
void import_tflite_broadcast_to(TfliteOp& op);
void import_tflite_cast(TfliteOp& op);
void import_tflite_concatenation(TfliteOp& op);
void import_tflite_conv_2d(TfliteOp& op);
void import_tflite_depth_to_space(TfliteOp& op);
void import_tflite_depthwise_conv_2d(TfliteOp& op);
void import_tflite_dequantize(TfliteOp& op);
void import_tflite_div(TfliteOp& op);
void import_tflite_elu(TfliteOp& op);
void import_tflite_exp(TfliteOp& op);
void import_tflite_fully_connected(TfliteOp& op);
void import_tflite_gather(TfliteOp& op);
void import_tflite_gelu(TfliteOp& op);
void import_tflite_hard_swish(TfliteOp& op);
void import_tflite_l2_normalization(TfliteOp& op);
void import_tflite_leaky_relu(TfliteOp& op);
void import_tflite_log(TfliteOp& op);
void import_tflite_logistic(TfliteOp& op);
void import_tflite_max_pool_2d(TfliteOp& op);
void import_tflite_maximum(TfliteOp& op);
void import_tflite_mean(TfliteOp& op);
void import_tflite_minimum(TfliteOp& op);
void import_tflite_mirror_pad(TfliteOp& op);
void import_tflite_mul(TfliteOp& op);
void import_tflite_neg(TfliteOp& op);
void import_tflite_pack(TfliteOp& op);
void import_tflite_pad(TfliteOp& op);  // PADV2 too
void import_tflite_pow(TfliteOp& op);
void import_tflite_prelu(TfliteOp& op);
void import_tflite_quantize(TfliteOp& op);
void import_tflite_reduce_max(TfliteOp& op);
void import_tflite_relu(TfliteOp& op);
void import_tflite_relu6(TfliteOp& op);
void import_tflite_relu_0_to_1(TfliteOp& op);
void import_tflite_relu_n1_to_1(TfliteOp& op);
void import_tflite_reshape(TfliteOp& op);  // SQUEEZE and EXPAND_DIMS too
void import_tflite_resize_bilinear(TfliteOp& op);
void import_tflite_resize_nearest_neighbor(TfliteOp& op);
void import_tflite_rsqrt(TfliteOp& op);
void import_tflite_shape(TfliteOp& op);
void import_tflite_slice(TfliteOp& op);
void import_tflite_softmax(TfliteOp& op);
void import_tflite_space_to_batch(TfliteOp& op);
void import_tflite_space_to_depth(TfliteOp& op);
void import_tflite_split(TfliteOp& op);
void import_tflite_split_v(TfliteOp& op);
void import_tflite_sqrt(TfliteOp& op);
void import_tflite_square(TfliteOp& op);
void import_tflite_squared_difference(TfliteOp& op);
void import_tflite_strided_slice(TfliteOp& op);
void import_tflite_sub(TfliteOp& op);
void import_tflite_sum(TfliteOp& op);
void import_tflite_tanh(TfliteOp& op);
void import_tflite_tile(TfliteOp& op);
void import_tflite_transpose(TfliteOp& op);
void import_tflite_unpack(TfliteOp& op);

// A constant of one number, of the element type and rank of `like`.
int32_t add_number(TfliteOp& op, int32_t like, float value);

// An operator of constants alone becomes a constant; false where it is none that can be.
bool fold_tflite_constants(TfliteOp& op, int32_t builtin_code);
bool folds_tflite_constants(int32_t builtin_code);  // where all its inputs are constant
std::vector<int32_t> folded_tflite_operators();

// A slice of each axis: first index and step, and how many that gives; `kept` without the axes that are taken
// out.
struct TfliteSlice {
  std::vector<int32_t> begin, strides;
  Shape shape, kept;
};
TfliteSlice read_tflite_slice(TfliteOp& op, const Shape& from);
TfliteSlice read_tflite_strided_slice(TfliteOp& op, const Shape& from);

}  // namespace intaglio::importers
