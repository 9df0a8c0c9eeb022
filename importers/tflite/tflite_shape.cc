// TFLite operators that move data or change its shape.
#include <algorithm>
#include <cmath>
#include <limits>

#include "importers/draft/quantized_tables.h"
#include "importers/tflite/tflite_operators.h"

namespace intaglio::importers {
namespace {

void import_reshape(TfliteOp& op) {
  op.check_inputs(1, 2);
  const int32_t x = op.activation(0);
  Shape shape = op.output_shape_in_file();
  check_shape(shape, op.draft().tensor(x).dtype);
  const int64_t from = elements(op.draft().tensor(x).shape), to = elements(shape);
  // With another batch the file's shape is right but for its first dimension.
  if (op.shapes_changed() && from != to && from % (to / shape[0]) == 0)
    shape[0] = narrow(from / (to / shape[0]), "dimension");
  if (from != elements(shape))
    fail("its input of ", from, " elements does not fit its output ", shape_text(shape));
  const int32_t y = op.output_same(x, shape);
  op.add(Op::kReshape, {x}, y);
  op.finish_same();
}

void import_transpose(TfliteOp& op) {
  op.check_inputs(2, 2);
  const int32_t x = op.activation(0);
  Permutation permutation;
  for (const int64_t axis : op.integers(1)) permutation.push_back(narrow(axis, "axis"));
  const Shape shape = op.draft().tensor(x).shape;
  check_permutation(permutation, shape.size());
  const int32_t y = op.output_same(x, permuted(shape, permutation));
  op.add(Op::kTranspose, {x}, y).options.as<TransposeOptions>().permutation = op.draft().list(permutation);
  op.finish_same();
}

void import_pad(TfliteOp& op) {  // PADV2 too: the value is input 2
  op.check_inputs(2, 3);
  const int32_t x = op.activation(0);
  float value = 0.0f;
  if (op.has_input(2)) {
    const auto values = values_of<float>(dequantized(op.constant(2)));
    if (values.size() != 1 || std::isnan(values[0])) fail("its padding value must be one number");
    value = values[0];
  }
  const std::vector<int64_t> pads = op.integers(1);  // [rank, 2]
  Shape shape = op.draft().tensor(x).shape;
  if (pads.size() != 2 * shape.size())
    fail("its paddings hold ", pads.size(), " values for rank ", shape.size());
  std::vector<int32_t> pads_before, pads_after;
  for (size_t i = 0; i < shape.size(); ++i) {
    const int64_t before = pads[2 * i], after = pads[2 * i + 1];
    constexpr int64_t kMost = 1 << 20;
    if (before < 0 || after < 0 || before > kMost || after > kMost)
      fail("padding ", before < 0 || before > kMost ? before : after, " is not allowed (0 to ", kMost, ")");
    pads_before.push_back(static_cast<int32_t>(before));
    pads_after.push_back(static_cast<int32_t>(after));
    shape[i] = narrow(shape[i] + before + after, "dimension");
  }
  const int32_t y = op.output_same(x, shape);
  DraftNode& node = op.add(Op::kPad, {x}, y);
  node.options.as<PadOptions>().before = op.draft().list(pads_before);
  node.pads_after = pads_after;
  node.options.as<PadOptions>().value = value;
  op.finish_same();
}

constexpr TfliteOperator kOperators[] = {
    {Builtin::EXPAND_DIMS, import_reshape, {Op::kReshape}, ""},
    {Builtin::PAD, import_pad, {Op::kPad}, "Paddings are constants."},
    {Builtin::PADV2, import_pad, {Op::kPad}, "Paddings and the value are constants."},
    {Builtin::RESHAPE, import_reshape, {Op::kReshape}, "The file holds the output's shape."},
    {Builtin::SQUEEZE, import_reshape, {Op::kReshape}, ""},
    {Builtin::TRANSPOSE, import_transpose, {Op::kTranspose}, "The permutation is a constant."},
};

}  // namespace

Span<const TfliteOperator> tflite_shape_operators() { return kOperators; }

}  // namespace intaglio::importers
