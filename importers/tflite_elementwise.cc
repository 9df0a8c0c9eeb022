// TFLite operators from element to element, and softmax.
#include "importers/quantized_tables.h"
#include "importers/tflite_handlers.h"

namespace intaglio::importers {
namespace {

void import_clamp(TfliteOp& op, tflite::Activation activation) {
  op.check_inputs(1, 1);
  const int32_t x = op.activation(0);
  const int32_t y = op.output(op.draft().tensor(x).shape);
  if (op.draft().tensor(y).dtype != op.draft().tensor(x).dtype)
    fail("its output has another element type than its input");
  set_activation(op.add(Op::kClamp, {x}, y), activation, op.draft().tensor(y));
}

}  // namespace

void import_tflite_relu(TfliteOp& op) { import_clamp(op, tflite::Activation::Relu); }
void import_tflite_relu_n1_to_1(TfliteOp& op) { import_clamp(op, tflite::Activation::ReluN1To1); }
void import_tflite_relu6(TfliteOp& op) { import_clamp(op, tflite::Activation::Relu6); }

void import_tflite_add(TfliteOp& op) {
  op.check_inputs(2, 2);
  int32_t inputs[2] = {op.activation_or_constant(0), op.activation_or_constant(1)};
  if (op.is_constant(0) && op.is_constant(1)) fail("it adds two constants");
  const Shape shape = op.draft().tensor(inputs[op.is_constant(0) ? 1 : 0]).shape;
  for (const size_t i : {size_t{0}, size_t{1}}) {
    DraftTensor& tensor = op.draft().tensor(inputs[i]);
    if (op.is_constant(i) && tensor.shape.size() < shape.size())
      tensor.shape.insert(tensor.shape.begin(), shape.size() - tensor.shape.size(), 1);
    bool fits = tensor.shape.size() == shape.size();
    for (size_t d = 0; fits && d < shape.size(); ++d)
      fits = tensor.shape[d] == shape[d] || (op.is_constant(i) && tensor.shape[d] == 1);
    if (!fits)
      fail("its inputs have the shapes ", shape_text(op.draft().tensor(inputs[0]).shape), " and ",
           shape_text(op.draft().tensor(inputs[1]).shape), "; broadcasting is supported for constants alone");
  }
  const int32_t y = op.output(shape);
  for (const int32_t input : inputs) {
    const DraftTensor& tensor = op.draft().tensor(input);
    if (tensor.dtype != op.draft().tensor(y).dtype)
      fail("its inputs and output have different element types");
    if (tensor.dtype == DType::kS8 && tensor.scales.size() != 1) fail("its int8 input has no single scale");
  }
  const auto* options = op.options_or_null<tflite::AddOptions>();
  DraftNode& node = op.add(Op::kAdd, {inputs[0], inputs[1]}, y);
  node.add_bits = 20;  // TFLite's own precision: its files were made for it
  if (options != nullptr) set_activation(node, options->activation(), op.draft().tensor(y));
}

void import_tflite_softmax(TfliteOp& op) {
  op.check_inputs(1, 1);
  const int32_t x = op.activation(0);
  const float beta = op.options<tflite::SoftmaxOptions>().beta();
  if (beta != 1.0f) fail("its beta is ", beta, "; only 1 is supported");
  const DraftTensor info = op.draft().tensor(x);
  const int32_t y = op.output(info.shape);
  if (op.draft().tensor(y).dtype != info.dtype) fail("its output has another element type than its input");
  std::vector<int32_t> inputs{x};
  if (info.dtype == DType::kS8) {
    const auto table = softmax_table(info.scales[0], info.shape.back());
    inputs.push_back(add_constant(op.draft(), op.name() + "/table", DType::kS32, {256}, table));
  }
  op.add(Op::kSoftmax, inputs, y);
}

void import_tflite_quantize(TfliteOp& op) {
  op.check_inputs(1, 1);
  const int32_t x = op.activation(0);
  const DType from = op.draft().tensor(x).dtype;
  const int32_t y = op.output(op.draft().tensor(x).shape);
  if (op.draft().tensor(y).dtype != DType::kS8) fail("it must give int8");
  if (from == DType::kS8) return add_requantize(op.draft(), op.name(), op.source(), x, y);
  op.add(Op::kQuantize, {x}, y);
}

void import_tflite_dequantize(TfliteOp& op) {
  op.check_inputs(1, 1);
  if (op.is_constant(0)) fail("dequantized constants (float16 or hybrid weights) are not supported yet");
  const int32_t x = op.activation(0);
  if (op.draft().tensor(x).dtype != DType::kS8) fail("its input must be int8");
  const int32_t y = op.output(op.draft().tensor(x).shape);
  if (op.draft().tensor(y).dtype != DType::kF32) fail("it must give float32");
  op.add(Op::kDequantize, {x}, y);
}

}  // namespace intaglio::importers
