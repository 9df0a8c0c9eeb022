// What the importer does with each TFLite operator. To add one: its handler in the family's file, its line in
// tflite_handlers.cc.
#pragma once

#include "importers/tflite_op.h"

namespace intaglio::importers {

using TfliteHandler = void (*)(TfliteOp& op);

TfliteHandler find_tflite_handler(int32_t builtin_code);  // nullptr: not supported
std::string tflite_operator_name(int32_t builtin_code);   // "CONV_2D"

void import_tflite_conv_2d(TfliteOp& op);
void import_tflite_depthwise_conv_2d(TfliteOp& op);
void import_tflite_fully_connected(TfliteOp& op);
void import_tflite_average_pool_2d(TfliteOp& op);
void import_tflite_max_pool_2d(TfliteOp& op);
void import_tflite_mean(TfliteOp& op);
void import_tflite_add(TfliteOp& op);
void import_tflite_relu(TfliteOp& op);
void import_tflite_relu_n1_to_1(TfliteOp& op);
void import_tflite_relu6(TfliteOp& op);
void import_tflite_softmax(TfliteOp& op);
void import_tflite_quantize(TfliteOp& op);
void import_tflite_dequantize(TfliteOp& op);
void import_tflite_reshape(TfliteOp& op);  // Squeeze and ExpandDims too
void import_tflite_transpose(TfliteOp& op);
void import_tflite_pad(TfliteOp& op);
void import_tflite_sub(TfliteOp& op);
void import_tflite_mul(TfliteOp& op);
void import_tflite_logistic(TfliteOp& op);
void import_tflite_tanh(TfliteOp& op);
void import_tflite_hard_swish(TfliteOp& op);
void import_tflite_leaky_relu(TfliteOp& op);
void import_tflite_prelu(TfliteOp& op);
void import_tflite_concatenation(TfliteOp& op);
void import_tflite_strided_slice(TfliteOp& op);
void import_tflite_resize_bilinear(TfliteOp& op);
void import_tflite_resize_nearest_neighbor(TfliteOp& op);

}  // namespace intaglio::importers
