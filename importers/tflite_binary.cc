// TFLite operators of two tensors, each repeated where it is smaller.
#include <algorithm>

#include "importers/tflite_handlers.h"

namespace intaglio::importers {
namespace {

// An operand with as many axes as the result.
int32_t aligned(TfliteOp& op, int32_t input, size_t rank) {
  Shape shape = op.draft().tensor(input).shape;
  if (shape.size() == rank) return input;
  shape.insert(shape.begin(), rank - shape.size(), 1);
  if (!op.draft().tensor(input).constant)
    return add_reshape(op.draft(), op.name() + "/aligned", op.source(), input, shape);
  op.draft().tensor(input).shape = shape;
  return input;
}

template <typename Options>
void import_binary(TfliteOp& op, Op kind) {
  op.check_inputs(2, 2);
  if (op.is_constant(0) && op.is_constant(1)) fail("both its inputs are constants");
  int32_t inputs[2] = {op.activation_or_constant(0), op.activation_or_constant(1)};
  const Shape a = op.draft().tensor(inputs[0]).shape, b = op.draft().tensor(inputs[1]).shape;
  const size_t rank = std::max({a.size(), b.size(), size_t{1}});
  for (int32_t& input : inputs) input = aligned(op, input, rank);
  Shape shape = op.draft().tensor(inputs[0]).shape;
  const Shape other = op.draft().tensor(inputs[1]).shape;
  for (size_t d = 0; d < rank; ++d) {
    if (shape[d] != other[d] && shape[d] != 1 && other[d] != 1)
      fail("its inputs have the shapes ", shape_text(a), " and ", shape_text(b),
           ", which do not fit each other");
    if (shape[d] == 1) shape[d] = other[d];
  }
  const int32_t y = op.output(shape);
  for (const int32_t input : inputs) {
    const DraftTensor& tensor = op.draft().tensor(input);
    if (tensor.dtype != op.draft().tensor(y).dtype)
      fail("its inputs and output have different element types");
    if (tensor.dtype == DType::kS8 && tensor.scales.size() != 1) fail("its int8 input has no single scale");
  }
  const auto* options = op.options_or_null<Options>();
  DraftNode& node = op.add(kind, {inputs[0], inputs[1]}, y);
  if (kind != Op::kMul) node.add_bits = 20;  // TFLite's own precision: its files were made for it
  if (options != nullptr) set_activation(node, options->activation(), op.draft().tensor(y));
}

}  // namespace

void import_tflite_add(TfliteOp& op) { import_binary<tflite::AddOptions>(op, Op::kAdd); }
void import_tflite_sub(TfliteOp& op) { import_binary<tflite::SubOptions>(op, Op::kSub); }
void import_tflite_mul(TfliteOp& op) { import_binary<tflite::MulOptions>(op, Op::kMul); }

}  // namespace intaglio::importers
