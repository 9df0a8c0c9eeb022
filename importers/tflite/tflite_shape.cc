// TFLite operators that move data or change its shape.
#include <algorithm>
#include <cmath>
#include <limits>

#include "importers/draft/quantized_tables.h"
#include "importers/tflite/tflite_operators.h"

namespace intaglio::importers {
namespace {

// The file has the output's shape for the shapes that its inputs have there.
void add_new_shape(TfliteOp& op, int32_t x, const Shape& in_file) {
  const Shape shape = at_least_1d(in_file);
  check_shape(shape, op.draft().tensor(x).dtype);
  const int64_t from = elements(op.draft().tensor(x).shape);
  if (from != elements(shape))
    fail("its input of ", from, " elements does not fit its output ", shape_text(shape));
  const int32_t y = op.output_same(x, shape);
  op.add(Op::kReshape, {x}, y);
  op.finish_same();
}

// With other inputs: an axis of -1 takes what is left, or the first one does.
Shape shape_for_other_inputs(TfliteOp& op, Shape shape, int64_t from) {
  int32_t* open = shape.empty() ? nullptr : &shape[0];
  if (op.input_count() > 1 && op.is_constant(1)) {
    shape.clear();
    for (const int64_t dim : op.integers(1)) shape.push_back(narrow(dim, "dimension"));
    open = shape.empty() ? nullptr : &shape[0];
    for (int32_t& dim : shape)
      if (dim == -1) open = &dim;
  }
  if (open == nullptr) return shape;
  const int32_t own = *open;
  *open = 1;
  const int64_t others = elements(shape);
  *open = others > 0 && from % others == 0 ? narrow(from / others, "dimension") : own;
  return shape;
}

// Whether the file's shape of the output is that of its elements. A converter records 1 for axes that it left open, also where other
// axes of the tensor follow from them.
bool has_shape_in_file(TfliteOp& op, int32_t x) {
  return !op.shapes_changed() && elements(op.output_shape_in_file()) == elements(op.draft().tensor(x).shape);
}

void import_reshape(TfliteOp& op) {
  op.check_inputs(1, 2);
  const int32_t x = op.activation(0);
  const Shape shape = op.output_shape_in_file();
  add_new_shape(op, x,
                has_shape_in_file(op, x)
                    ? shape
                    : shape_for_other_inputs(op, shape, elements(op.draft().tensor(x).shape)));
}

void import_expand_dims(TfliteOp& op) {
  op.check_inputs(2, 2);
  const int32_t x = op.activation(0);
  if (has_shape_in_file(op, x)) return add_new_shape(op, x, op.output_shape_in_file());
  Shape shape = op.draft().tensor(x).shape;
  const std::vector<int64_t> axis = op.integers(1);
  if (axis.size() != 1) fail("its axis must be one number, it has ", axis.size());
  shape.insert(shape.begin() + normal_axis(axis[0], shape.size() + 1), 1);
  add_new_shape(op, x, shape);
}

void import_squeeze(TfliteOp& op) {
  op.check_inputs(1, 1);
  const int32_t x = op.activation(0);
  if (has_shape_in_file(op, x)) return add_new_shape(op, x, op.output_shape_in_file());
  const Shape from = op.draft().tensor(x).shape;
  std::vector<int64_t> given;
  if (const auto* const options = op.options_or_null<tflite::SqueezeOptions>())
    if (options->axes() != nullptr) given.assign(options->axes()->begin(), options->axes()->end());
  const std::vector<int32_t> axes = normal_axes(given, from.size());
  Shape shape;
  for (size_t d = 0; d < from.size(); ++d)
    if (from[d] != 1 ||
        (!axes.empty() && std::find(axes.begin(), axes.end(), static_cast<int32_t>(d)) == axes.end()))
      shape.push_back(from[d]);
  add_new_shape(op, x, shape);
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

constexpr TfliteOperator kTfliteShapeOperators[] = {
    {Builtin::EXPAND_DIMS, import_expand_dims, {Op::kReshape}, ""},
    {Builtin::PAD, import_pad, {Op::kPad}, "Paddings are constants."},
    {Builtin::PADV2, import_pad, {Op::kPad}, "Paddings and the value are constants."},
    {Builtin::RESHAPE, import_reshape, {Op::kReshape}, "The file holds the output's shape."},
    {Builtin::SQUEEZE, import_squeeze, {Op::kReshape}, ""},
    {Builtin::TRANSPOSE, import_transpose, {Op::kTranspose}, "The permutation is a constant."},
};

}  // namespace

Span<const TfliteOperator> tflite_shape_operators() { return kTfliteShapeOperators; }

}  // namespace intaglio::importers
