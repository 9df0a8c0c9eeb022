// Layers of an OpenVINO IR that take or replace elements at places that indices name, and those that move parts of axes.
#include <algorithm>

#include "importers/openvino/ir_op.h"

namespace intaglio::importers {
namespace {

size_t axis_of(const IrOp& op, int64_t axis, size_t input = 0) {
  const auto rank = static_cast<int64_t>(op.input_shape(input).size());
  if (axis < -rank || axis >= rank) fail("axis ", axis, " is not one of ", rank);
  return static_cast<size_t>(axis < 0 ? axis + rank : axis);
}

IrShape closed_shape(const IrOp& op, size_t input) {
  const IrShape& shape = op.input_shape(input);
  if (std::any_of(shape.begin(), shape.end(), [](int64_t side) { return side < 1; }))
    fail("its input ", input, " has an open shape");
  return shape;
}

void import_gather_elements(IrOp& op) {
  op.check_inputs(2, 2);
  op.add("GatherElements", {op.input(0), op.input(1)}, {{"axis", op.integer("axis", 0)}});
}

void import_gather_nd(IrOp& op) {
  op.check_inputs(2, 2);
  op.add("GatherND", {op.input(0), op.input(1)}, {{"batch_dims", op.integer("batch_dims", 0)}});
}

std::string reduction_of(const IrOp& op) {
  const std::string word = op.word("reduction", "none");
  return word == "sum" ? "add" : word == "prod" ? "mul" : word;
}

void import_scatter_nd(IrOp& op) {
  op.check_inputs(3, 3);
  op.add("ScatterND", {op.input(0), op.input(1), op.input(2)}, {{"reduction", reduction_of(op)}});
}

void import_scatter_elements(IrOp& op) {
  op.check_inputs(4, 4);
  if (!op.flag("use_init_val", true)) fail("use_init_val false is not supported");
  op.add("ScatterElements", {op.input(0), op.input(1), op.input(2)},
         {{"axis", op.whole_number(3)}, {"reduction", reduction_of(op)}});
}

// Slices of an axis are replaced: with that axis in front, rows that one index each names.
void import_scatter_update(IrOp& op) {
  op.check_inputs(4, 4);
  const size_t axis = axis_of(op, op.whole_number(3)), rank = op.input_shape(0).size();
  IrShape indices = closed_shape(op, 1);
  const size_t count = indices.size();
  indices.push_back(1);
  std::vector<int64_t> front, updates_front, back(rank);
  for (size_t d = 0; d < rank; ++d)
    if (d != axis) front.push_back(static_cast<int64_t>(d));
  front.insert(front.begin(), static_cast<int64_t>(axis));
  for (size_t d = 0; d < count; ++d) updates_front.push_back(static_cast<int64_t>(axis + d));
  for (size_t d = 0; d + 1 < rank + count; ++d)
    if (d < axis || d >= axis + count) updates_front.push_back(static_cast<int64_t>(d));
  for (size_t d = 0; d < rank; ++d) back[static_cast<size_t>(front[d])] = static_cast<int64_t>(d);
  const std::string places = op.reshaped(op.input(1), indices);
  if (axis == 0) {
    op.add("ScatterND", {op.input(0), places, op.input(2)});
    return;
  }
  const std::string x = op.transposed(op.input(0), front),
                    updates = op.transposed(op.input(2), updates_front);
  op.add("Transpose", {op.add_inner("ScatterND", {x, places, updates})}, {{"perm", back}});
}

// ONNX counts negative indices from the end; here they are none of the classes, unless the file says otherwise.
void import_one_hot(IrOp& op) {
  op.check_inputs(4, 4);
  const int64_t depth = op.whole_number(1);
  const std::string negative = op.word("negative_indices_mode", "ignore_negative");
  std::string indices = op.input(0);
  if (negative != "normalize") {
    if (negative != "ignore_negative") fail("negative_indices_mode ", quoted(negative), " is not supported");
    const std::string zero = op.number(0.0f), none = op.number(static_cast<float>(depth));
    const std::string real = op.add_inner("Cast", {indices}, {{"to", onnx_file::TensorProto::FLOAT}});
    const std::string known = op.add_inner("Where", {op.add_inner("Less", {real, zero}), none, real});
    indices = op.add_inner("Cast", {known}, {{"to", onnx_file::TensorProto::INT64}});
  }
  // Off and on; what a FakeQuantize gives of a constant is one to the ONNX reader.
  const auto value = [&](size_t i) {
    return op.is_constant(op.source(i))
               ? op.floats({op.real_number(i)}, {1})
               : op.reshaped(op.add_inner("Cast", {op.input(i)}, {{"to", onnx_file::TensorProto::FLOAT}}),
                             {1});
  };
  const std::string off = value(3), on = value(2);
  const std::string values = op.add_inner("Concat", {off, on}, {{"axis", 0}});
  op.add("OneHot", {indices, op.integers_constant({depth}), values}, {{"axis", op.integer("axis", -1)}});
}

void import_reverse_sequence(IrOp& op) {
  op.check_inputs(2, 2);
  const auto axis = [&](const char* name, int64_t otherwise) {
    return static_cast<int64_t>(axis_of(op, op.integer(name, otherwise)));
  };
  op.add("ReverseSequence", {op.input(0), op.input(1)},
         {{"batch_axis", axis("batch_axis", 0)}, {"time_axis", axis("seq_axis", 1)}});
}

std::string sliced(IrOp& op, const std::string& x, size_t axis, int64_t begin, int64_t end, int64_t step) {
  const auto list = [&](int64_t value) { return op.integers_constant({value}); };
  return op.add_inner("Slice", {x, list(begin), list(end), list(static_cast<int64_t>(axis)), list(step)});
}

void import_reverse(IrOp& op) {
  op.check_inputs(2, 2);
  op.expect("mode", {"index"});
  std::string x = op.input(0);
  for (const int64_t axis : op.whole_numbers(1)) x = sliced(op, x, axis_of(op, axis), -1, INT32_MIN, -1);
  op.add("Identity", {x});
}

// Each element moves `shift` places along its axis, and what leaves it comes in at its other end.
void import_roll(IrOp& op) {
  op.check_inputs(3, 3);
  const IrShape shape = closed_shape(op, 0);
  std::vector<int64_t> shifts = op.whole_numbers(1);
  const std::vector<int64_t> axes = op.whole_numbers(2);
  if (shifts.size() == 1) shifts.resize(axes.size(), shifts[0]);
  if (shifts.size() != axes.size()) fail("it has ", shifts.size(), " shifts for ", axes.size(), " axes");
  std::string x = op.input(0);
  for (size_t i = 0; i < axes.size(); ++i) {
    const size_t axis = axis_of(op, axes[i]);
    const int64_t side = shape[axis], shift = (shifts[i] % side + side) % side;
    if (shift == 0) continue;
    x = op.add_inner("Concat",
                     {sliced(op, x, axis, side - shift, side, 1), sliced(op, x, axis, 0, side - shift, 1)},
                     {{"axis", static_cast<int64_t>(axis)}});
  }
  op.add("Identity", {x});
}

void import_grid_sample(IrOp& op) {
  op.check_inputs(2, 2);
  const std::string mode = op.word("mode", "bilinear");
  op.add("GridSample", {op.input(0), op.input(1)},
         {{"align_corners", op.flag("align_corners", false)},
          {"mode", mode == "bilinear"  ? "linear"
                   : mode == "bicubic" ? "cubic"
                                       : mode},
          {"padding_mode", op.word("padding_mode", "zeros")}});
}

void import_cum_sum(IrOp& op) {
  op.check_inputs(1, 2);
  const int64_t axis = op.has_input(1) ? op.whole_number(1) : 0;
  op.add("CumSum", {op.input(0), op.integers_constant({axis})},
         {{"exclusive", op.flag("exclusive", false)}, {"reverse", op.flag("reverse", false)}});
}

void import_einsum(IrOp& op) {
  op.check_inputs(1, 64);
  std::vector<std::string> inputs;
  for (size_t i = 0; i < op.input_count(); ++i) inputs.push_back(op.input(i));
  op.add("Einsum", inputs, {{"equation", op.word("equation", "")}});
}

void import_range(IrOp& op) {
  op.check_inputs(3, 3);
  op.ignore("output_type");
  op.add("Range", {op.input(0), op.input(1), op.input(2)});
}

// Blocks, and what is put around or cut away, a number for each axis of x.
struct Blocks {
  IrShape shape;
  std::vector<int64_t> sides, begins, ends;
};
Blocks read_blocks(IrOp& op) {
  op.check_inputs(4, 4);
  constexpr int64_t kMostSide = 1 << 16;
  Blocks blocks{closed_shape(op, 0), op.whole_numbers(1), op.whole_numbers(2), op.whole_numbers(3)};
  for (const auto* const list : {&blocks.sides, &blocks.begins, &blocks.ends})
    if (list->size() != blocks.shape.size())
      fail("it has ", list->size(), " numbers for ", blocks.shape.size(), " axes");
  for (size_t d = 0; d < blocks.shape.size(); ++d)
    if (blocks.sides[d] < 1 || blocks.sides[d] > kMostSide || blocks.begins[d] < 0 || blocks.ends[d] < 0 ||
        blocks.begins[d] > kMostSide || blocks.ends[d] > kMostSide)
      fail("an axis has a block of ", blocks.sides[d], " between ", blocks.begins[d], " and ",
           blocks.ends[d]);
  return blocks;
}

// Only axes with blocks are parted, since there are six axes at most.
void import_space_to_batch(IrOp& op) {
  const Blocks blocks = read_blocks(op);
  std::vector<int64_t> pads = blocks.begins, parted, inner, outer, whole;
  pads.insert(pads.end(), blocks.ends.begin(), blocks.ends.end());
  int64_t batch = 1;
  for (size_t d = 0; d < blocks.shape.size(); ++d) {
    const int64_t side = blocks.shape[d] + blocks.begins[d] + blocks.ends[d], block = blocks.sides[d];
    if (side % block != 0) fail("an axis has ", side, " elements for blocks of ", block);
    if ((batch *= block) > INT32_MAX) fail("its blocks are too large");
    outer.push_back(static_cast<int64_t>(parted.size()));
    parted.push_back(side / block);
    if (block > 1) {
      inner.push_back(static_cast<int64_t>(parted.size()));
      parted.push_back(block);
    }
    whole.push_back(side / block);
  }
  whole[0] *= batch;
  inner.insert(inner.end(), outer.begin(), outer.end());
  const std::string padded = op.add_inner("Pad", {op.input(0), op.integers_constant(pads)});
  op.add("Reshape", {op.transposed(op.reshaped(padded, parted), inner), op.integers_constant(whole)});
}

void import_batch_to_space(IrOp& op) {
  const Blocks blocks = read_blocks(op);
  int64_t batch = 1;
  for (const int64_t side : blocks.sides)
    if ((batch *= side) > INT32_MAX) fail("its blocks are too large");
  if (blocks.shape[0] % batch != 0) fail("a batch of ", blocks.shape[0], " does not divide into ", batch);
  std::vector<int64_t> parted, order, whole, ends, axes;
  for (const int64_t side : blocks.sides)
    if (side > 1) parted.push_back(side);
  const auto first = static_cast<int64_t>(parted.size());
  int64_t inner = 0;
  for (size_t d = 0; d < blocks.shape.size(); ++d) {
    const int64_t side = d == 0 ? blocks.shape[0] / batch : blocks.shape[d];
    order.push_back(first + static_cast<int64_t>(d));
    if (blocks.sides[d] > 1) order.push_back(inner++);
    parted.push_back(side);
    whole.push_back(side * blocks.sides[d]);
    ends.push_back(whole.back() - blocks.ends[d]);
    axes.push_back(static_cast<int64_t>(d));
  }
  const std::string spread = op.reshaped(op.transposed(op.reshaped(op.input(0), parted), order), whole);
  op.add("Slice", {spread, op.integers_constant(blocks.begins), op.integers_constant(ends),
                   op.integers_constant(axes)});
}

constexpr IrOperator kIrIndexedOperators[] = {
    {"BatchToSpace", import_batch_to_space},
    {"CumSum", import_cum_sum},
    {"Einsum", import_einsum},
    {"GatherElements", import_gather_elements},
    {"GatherND", import_gather_nd},
    {"GridSample", import_grid_sample},
    {"OneHot", import_one_hot},
    {"Range", import_range},
    {"Reverse", import_reverse},
    {"ReverseSequence", import_reverse_sequence},
    {"Roll", import_roll},
    {"ScatterElementsUpdate", import_scatter_elements},
    {"ScatterNDUpdate", import_scatter_nd},
    {"ScatterUpdate", import_scatter_update},
    {"SpaceToBatch", import_space_to_batch},
};

}  // namespace

Span<const IrOperator> ir_indexed_operators() { return kIrIndexedOperators; }

}  // namespace intaglio::importers
