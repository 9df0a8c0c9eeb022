// ONNX operators that repeat elements, move them between channels and pixels, or go along an axis.
#include <algorithm>

#include "importers/draft/matrix_product.h"
#include "importers/onnx/onnx_operators.h"

namespace intaglio::importers {
namespace {

// `of_axis[d]`: how often axis d of x stands in the result.
int32_t add_repeats(OnnxOp& op, int32_t x, const std::vector<int64_t>& of_axis) {
  for (size_t d = 0; d < of_axis.size(); ++d) {
    const int32_t dim = op.draft().tensor(x).shape[d];
    if (of_axis[d] == 1) continue;
    if (of_axis[d] < 1 || of_axis[d] > kMaxTensorBytes / dim)
      fail("it repeats axis ", d, " ", of_axis[d], " times");
    std::vector<int32_t> indices;
    Shape shape = op.draft().tensor(x).shape;
    shape[d] = static_cast<int32_t>(dim * of_axis[d]);
    check_shape(shape, DType::kF32);
    indices.resize(static_cast<size_t>(shape[d]));
    for (int32_t i = 0; i < shape[d]; ++i) indices[static_cast<size_t>(i)] = i % dim;
    x = add_gather(op.draft(), op.output_name(), op.source(), x, static_cast<int32_t>(d), indices);
  }
  return x;
}

int32_t read_block(OnnxOp& op) {
  const int64_t block = op.integer("blocksize", 0);
  if (block < 1 || block > 4096) fail("its blocksize ", block, " is not allowed (1 to 4096)");
  return static_cast<int32_t>(block);
}

void import_tile(OnnxOp& op) {
  op.check_inputs(2, 2);
  const int32_t x = op.activation_or_codes(0);
  const std::vector<int64_t> repeats = op.integers(1).values;
  const Shape& shape = op.draft().tensor(x).shape;
  if (repeats.size() != shape.size())
    fail("it has ", repeats.size(), " repeats for an input of rank ", shape.size());
  op.set_output(add_repeats(op, x, repeats));
}

void import_expand(OnnxOp& op) {
  op.check_inputs(2, 2);
  const int32_t input = op.activation_or_codes(0);
  const std::vector<int64_t> to = op.integers(1).values;
  Shape from = op.draft().tensor(input).shape;
  if (from.size() > to.size() + static_cast<size_t>(kMaxRank) || to.size() > static_cast<size_t>(kMaxRank))
    fail("its shape has ", to.size(), " dimensions");
  if (from.size() < to.size()) from.insert(from.begin(), to.size() - from.size(), 1);
  std::vector<int64_t> repeats(from.size(), 1);
  for (size_t i = 0; i < to.size(); ++i) {
    const size_t d = from.size() - to.size() + i;
    if (to[i] != 1 && from[d] != 1 && to[i] != from[d])
      fail("it expands ", shape_text(from), " to a dimension of ", to[i]);
    if (from[d] == 1) repeats[d] = to[i];
  }
  const int32_t x = add_reshape(op.draft(), op.name() + "/aligned", op.source(), input, from);
  op.set_output(add_repeats(op, x, repeats));
}

void import_depth_to_space(OnnxOp& op) {
  op.check_inputs(1, 1);
  const std::string mode = op.string("mode", "DCR");
  if (mode != "DCR" && mode != "CRD") fail("mode ", quoted(mode), " is not known");
  const int32_t block = read_block(op);
  const int32_t x = op.nhwc(op.activation_or_codes(0));
  const int32_t y = add_depth_to_space(op.draft(), op.output_name(), op.source(), x, block, mode == "CRD");
  op.set_output(add_transpose(op.draft(), op.output_name(), op.source(), y, kToNchw));
}

void import_space_to_depth(OnnxOp& op) {
  op.check_inputs(1, 1);
  const int32_t block = read_block(op);
  const int32_t x = op.nhwc(op.activation_or_codes(0));
  const int32_t y = add_space_to_depth(op.draft(), op.output_name(), op.source(), x, block);
  op.set_output(add_transpose(op.draft(), op.output_name(), op.source(), y, kToNchw));
}

void import_cum_sum(OnnxOp& op) {
  op.check_inputs(2, 2);
  const int32_t x = op.activation(0);
  const std::vector<int64_t> axis = op.integers(1).values;
  if (axis.size() != 1) fail("it has ", axis.size(), " axes; one is supported");
  const int32_t along = normal_axis(axis[0], op.draft().tensor(x).shape.size());
  const bool exclusive = op.integer("exclusive", 0) != 0, reverse = op.integer("reverse", 0) != 0;
  op.set_output(add_cumulative_sum(op.draft(), op.output_name(), op.source(), x, along, exclusive, reverse));
}

// Of each matrix the elements on one side of a diagonal; the others are 0.
void import_trilu(OnnxOp& op) {
  op.check_inputs(1, 2);
  const int32_t x = op.activation(0);
  const Shape shape = op.draft().tensor(x).shape;
  if (shape.size() < 2) fail("its input has the shape ", shape_text(shape), "; rank 2 or more is expected");
  const std::vector<int64_t> k = op.has_input(1) ? op.integers(1).values : std::vector<int64_t>{0};
  if (k.size() != 1) fail("it has ", k.size(), " diagonals; one is expected");
  const bool upper = op.integer("upper", 1) != 0;
  Shape ones(shape.size(), 1);
  const Shape zero_shape = ones;
  ones[shape.size() - 2] = shape[shape.size() - 2];
  ones.back() = shape.back();
  op.draft().budget->check_numbers(int64_t{ones[shape.size() - 2]} * ones.back());
  std::vector<float> side;
  for (int64_t row = 0; row < ones[shape.size() - 2]; ++row)
    for (int64_t column = 0; column < ones.back(); ++column)
      side.push_back((upper ? column - row >= k[0] : column - row <= k[0]) ? 1.0f : 0.0f);
  const int32_t condition = add_constant(op.draft(), op.name() + "/side", DType::kF32, ones, side);
  const int32_t zero =
      add_constant(op.draft(), op.name() + "/zero", DType::kF32, zero_shape, std::vector<float>{0.0f});
  const int32_t y = op.new_tensor(shape);
  op.add(Op::kWhere, {condition, x, zero}, y);
  op.set_output(y);
}

constexpr OnnxOperator kOnnxRepeatOperators[] = {
    {"CumSum",
     import_cum_sum,
     {Op::kFullyConnected, Op::kTranspose},
     "The axis is a constant, of at most 4096 elements."},
    {"DepthToSpace", import_depth_to_space, {Op::kReshape, Op::kTranspose}, "Rank 4."},
    {"Expand", import_expand, {Op::kGather, Op::kReshape}, "The shape is a constant."},
    {"SpaceToDepth", import_space_to_depth, {Op::kReshape, Op::kTranspose}, "Rank 4."},
    {"Tile", import_tile, {Op::kGather}, "Repeats are constants."},
    {"Trilu", import_trilu, {Op::kWhere}, "The diagonal is a constant."},
};

}  // namespace

Span<const OnnxOperator> onnx_repeat_operators() { return kOnnxRepeatOperators; }

}  // namespace intaglio::importers
