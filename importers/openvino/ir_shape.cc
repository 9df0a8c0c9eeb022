// Layers of an OpenVINO IR that move elements, and the ends of the network.
#include <algorithm>
#include <limits>

#include "importers/openvino/ir_op.h"

namespace intaglio::importers {
namespace {

void import_reshape(IrOp& op) {
  op.check_inputs(2, 2);
  const bool zero_copies = op.flag("special_zero", true);
  op.add("Reshape", {op.input(0), op.input(1)}, {{"allowzero", !zero_copies}});
}

void import_squeeze(IrOp& op) {
  op.check_inputs(1, 2);
  op.ignore("allow_axis_skip");
  std::vector<std::string> inputs{op.input(0)};
  if (op.has_input(1)) inputs.push_back(op.integers_constant(op.whole_numbers(1)));
  op.add(op.layer().type == "Squeeze" ? "Squeeze" : "Unsqueeze", inputs);
}

void import_transpose(IrOp& op) {
  op.check_inputs(2, 2);
  std::vector<int64_t> order = op.whole_numbers(1);
  if (order.empty())
    for (size_t d = op.input_shape(0).size(); d-- > 0;) order.push_back(static_cast<int64_t>(d));
  op.add("Transpose", {op.input(0)}, {{"perm", order}});
}

void import_concat(IrOp& op) {
  op.check_inputs(1, 65536);
  std::vector<std::string> inputs;
  for (size_t i = 0; i < op.input_count(); ++i) inputs.push_back(op.input(i));
  op.add("Concat", inputs, {{"axis", op.integer("axis", 0)}});
}

void import_gather(IrOp& op) {
  op.check_inputs(3, 3);
  if (op.integer("batch_dims", 0) != 0) fail("batch_dims are not supported");
  op.add("Gather", {op.input(0), op.input(1)}, {{"axis", op.whole_number(2)}});
}

// All outputs of one ONNX node.
void add_split(IrOp& op, int64_t axis, const std::vector<int64_t>& sizes) {
  op.add("Split", {op.input(0), op.integers_constant(sizes)}, {{"axis", axis}});
  auto& node = op.last_node();
  for (size_t i = 1; i < op.layer().outputs.size(); ++i) node.output.push_back(op.output(i));
}

int64_t side_of(const IrOp& op, int64_t axis) {
  const IrShape& shape = op.input_shape(0);
  const auto rank = static_cast<int64_t>(shape.size());
  if (axis < -rank || axis >= rank) fail("axis ", axis, " is not one of ", rank);
  const int64_t side = shape[static_cast<size_t>(axis < 0 ? axis + rank : axis)];
  if (side < 1) fail("the side that it parts is open");
  return side;
}

void import_split(IrOp& op) {
  op.check_inputs(2, 2);
  const int64_t parts = op.integer("num_splits", 0), axis = op.whole_number(1), side = side_of(op, axis);
  if (parts < 1 || static_cast<size_t>(parts) != op.layer().outputs.size() || side % parts != 0)
    fail("num_splits ", parts, " does not part ", side, " elements into ", op.layer().outputs.size(),
         " outputs");
  add_split(op, axis, std::vector<int64_t>(static_cast<size_t>(parts), side / parts));
}

void import_variadic_split(IrOp& op) {
  op.check_inputs(3, 3);
  const int64_t axis = op.whole_number(1);
  std::vector<int64_t> sizes = op.whole_numbers(2);
  if (sizes.size() != op.layer().outputs.size())
    fail("it has ", sizes.size(), " lengths for ", op.layer().outputs.size(), " outputs");
  int64_t rest = side_of(op, axis);
  for (const int64_t size : sizes)
    if (size > 0) rest -= std::min(size, rest);
  for (int64_t& size : sizes)
    if (size == -1) size = rest;
  add_split(op, axis, sizes);
}

void import_slice(IrOp& op) {
  op.check_inputs(4, 5);
  std::vector<std::string> inputs{op.input(0), op.integers_constant(op.whole_numbers(1)),
                                  op.integers_constant(op.whole_numbers(2))};
  std::vector<int64_t> axes;
  if (op.has_input(4))
    axes = op.whole_numbers(4);
  else
    for (size_t d = 0, count = op.whole_numbers(1).size(); d < count; ++d)
      axes.push_back(static_cast<int64_t>(d));
  inputs.push_back(op.integers_constant(axes));
  inputs.push_back(op.integers_constant(op.whole_numbers(3)));
  op.add("Slice", inputs);
}

bool mask_at(const std::vector<int64_t>& mask, size_t i) { return i < mask.size() && mask[i] != 0; }

// Begin, end and step of the first axes; a mask bit means from the first, to the last, or one element whose axis goes.
void import_strided_slice(IrOp& op) {
  op.check_inputs(3, 4);
  const std::vector<int64_t> begins = op.whole_numbers(1), ends = op.whole_numbers(2);
  const std::vector<int64_t> steps =
      op.has_input(3) ? op.whole_numbers(3) : std::vector<int64_t>(begins.size(), 1);
  const auto begin_mask = op.integers("begin_mask"), end_mask = op.integers("end_mask"),
             shrink = op.integers("shrink_axis_mask");
  for (const char* const name : {"new_axis_mask", "ellipsis_mask"})
    for (const int64_t bit : op.integers(name))
      if (bit != 0) fail(name, " is not supported");
  if (begins.size() != ends.size() || begins.size() != steps.size())
    fail("its begins, ends and strides have different lengths");
  std::vector<int64_t> first, last, axes, step, gone;
  for (size_t d = 0; d < begins.size(); ++d) {
    constexpr int64_t kEnd = std::numeric_limits<int32_t>::max();
    const bool is_one = mask_at(shrink, d);
    axes.push_back(static_cast<int64_t>(d));
    step.push_back(is_one ? 1 : steps[d]);
    first.push_back(mask_at(begin_mask, d) && !is_one ? (steps[d] < 0 ? kEnd : 0) : begins[d]);
    const int64_t behind = begins[d] == -1 || begins[d] >= kEnd ? kEnd : begins[d] + 1;
    last.push_back(is_one ? behind : mask_at(end_mask, d) ? (steps[d] < 0 ? -kEnd : kEnd) : ends[d]);
    if (is_one) gone.push_back(static_cast<int64_t>(d));
  }
  const std::vector<std::string> inputs{op.input(0), op.integers_constant(first), op.integers_constant(last),
                                        op.integers_constant(axes), op.integers_constant(step)};
  if (gone.empty()) {
    op.add("Slice", inputs);
    return;
  }
  const std::string sliced = op.add_inner("Slice", inputs);
  op.add("Squeeze", {sliced, op.integers_constant(gone)});
}

// A border that is repeated, which ONNX's Pad has not: each end of an axis by its indices, counted from that end.
void import_symmetric_pad(IrOp& op) {
  const IrShape& shape = op.input_shape(0);
  const std::vector<int64_t> begin = op.whole_numbers(1), end = op.whole_numbers(2);
  if (begin.size() != shape.size() || end.size() != shape.size())
    fail("it has ", begin.size(), " and ", end.size(), " pads for ", shape.size(), " axes");
  std::string x = op.input(0);
  for (size_t d = 0; d < shape.size(); ++d) {
    if (begin[d] == 0 && end[d] == 0) continue;
    if (begin[d] < 0 || end[d] < 0 || (shape[d] >= 0 && (begin[d] > shape[d] || end[d] > shape[d])))
      fail("pads of ", begin[d], " and ", end[d], " do not fit a side of ", shape[d]);
    const OnnxAttributes axis{{"axis", static_cast<int64_t>(d)}};
    const auto mirrored = [&](int64_t count, int64_t first) {
      op.file().check_room(static_cast<uint64_t>(count), sizeof(int64_t));
      std::vector<int64_t> places;
      for (int64_t i = 0; i < count; ++i) places.push_back(first - i);
      return op.add_inner("Gather", {x, op.integers_constant(places)}, axis);
    };
    std::vector<std::string> parts;
    if (begin[d] > 0) parts.push_back(mirrored(begin[d], begin[d] - 1));
    parts.push_back(x);
    if (end[d] > 0) parts.push_back(mirrored(end[d], -1));
    x = op.add_inner("Concat", parts, axis);
  }
  op.add("Identity", {x});
}

void import_pad(IrOp& op) {
  op.check_inputs(3, 4);
  const std::string mode = op.word("pad_mode", "constant");
  if (mode == "symmetric") return import_symmetric_pad(op);
  if (mode != "constant" && mode != "edge" && mode != "reflect")
    fail("pad_mode ", quoted(mode), " is not supported");
  std::vector<int64_t> pads = op.whole_numbers(1);
  for (const int64_t pad : op.whole_numbers(2)) pads.push_back(pad);
  std::vector<std::string> inputs{op.input(0), op.integers_constant(pads)};
  if (mode == "constant" && op.has_input(3)) {
    const IrConstant value = op.constant(3);
    if (value.values.size() != 1) fail("its value has ", value.values.size(), " numbers where 1 is expected");
    inputs.push_back(op.number(static_cast<float>(value.values[0])));
  }
  op.add("Pad", inputs, {{"mode", mode}});
}

// The sizes are those that the file says of the output, unless scales decide where a number is read.
void import_interpolate(IrOp& op) {
  op.check_inputs(2, 4);
  const std::string mode = op.word("mode", ""), by = op.word("shape_calculation_mode", "");
  const std::string onnx_mode = mode == "nearest" ? "nearest" : mode == "cubic" ? "cubic" : "linear";
  if (mode != "nearest" && mode != "linear" && mode != "linear_onnx" && mode != "cubic")
    fail("mode ", quoted(mode), " is not supported");
  if (op.flag("antialias", false)) fail("antialias is not supported");
  for (const char* const name : {"pads_begin", "pads_end"})
    for (const int64_t pad : op.integers(name))
      if (pad != 0) fail(name, " is not supported");
  IrOp::Attributes attributes;
  attributes = {{"mode", onnx_mode},
                {"coordinate_transformation_mode", op.word("coordinate_transformation_mode", "half_pixel")}};
  const std::string nearest = op.word("nearest_mode", "round_prefer_floor");
  if (onnx_mode == "nearest") {
    if (nearest == "simple") fail("nearest_mode simple is not supported");
    attributes.push_back({"nearest_mode", nearest});
  }
  const auto cubic = static_cast<float>(op.real("cube_coeff", -0.75));
  if (onnx_mode == "cubic") attributes.push_back({"cubic_coeff_a", cubic});
  const IrShape& out = op.output_shape();
  // Inputs: sizes, scales, axes; from opset 11 on one of the first two, and axes.
  const bool is_new = op.layer().version == "opset11";
  const size_t scales_input = is_new ? 1 : 2, axes_input = is_new ? 2 : 3;
  if (by == "scales" && op.has_input(scales_input)) {
    const IrConstant scales = op.constant(scales_input);
    std::vector<int64_t> axes;
    if (op.has_input(axes_input)) axes = op.whole_numbers(axes_input);
    std::vector<float> all(out.size(), 1.0f);
    for (size_t i = 0; i < scales.values.size(); ++i) {
      const int64_t axis = i < axes.size() ? axes[i] : static_cast<int64_t>(i);
      const auto rank = static_cast<int64_t>(out.size());
      if (axis < -rank || axis >= rank) fail("axis ", axis, " is not one of ", rank);
      all[static_cast<size_t>(axis < 0 ? axis + rank : axis)] = static_cast<float>(scales.values[i]);
    }
    op.add("Resize", {op.input(0), "", op.floats(all, {static_cast<int64_t>(all.size())})}, attributes);
    return;
  }
  if (by != "sizes" && by != "scales") fail("shape_calculation_mode ", quoted(by), " is not supported");
  if (std::any_of(out.begin(), out.end(), [](int64_t dim) { return dim < 1; })) {
    // For an open shape the layer's own sizes, which may follow from the shapes that the user gives.
    if (by != "sizes" || !op.has_input(1) || !op.has_input(axes_input)) fail("its output has an open shape");
    attributes.push_back({"axes", op.whole_numbers(axes_input)});
    op.add("Resize", {op.input(0), "", "", op.input(1)}, attributes);
    return;
  }
  op.add("Resize", {op.input(0), "", "", op.integers_constant(out)}, attributes);
}

void import_shape_of(IrOp& op) {
  op.check_inputs(1, 1);
  op.ignore("output_type");
  op.add("Shape", {op.input(0)});
}

void import_broadcast(IrOp& op) {
  op.check_inputs(2, 2);
  op.expect("mode", {"numpy", "bidirectional"});
  op.add("Expand", {op.input(0), op.input(1)});
}

void import_tile(IrOp& op) {
  op.check_inputs(2, 2);
  op.add("Tile", {op.input(0), op.input(1)});
}

void import_depth_to_space(IrOp& op) {
  op.check_inputs(1, 1);
  const std::string mode = op.word("mode", "");
  if (mode != "blocks_first" && mode != "depth_first") fail("mode ", quoted(mode), " is not supported");
  const int64_t block = op.integer("block_size", 1);
  if (op.layer().type == "SpaceToDepth") {
    if (mode != "blocks_first") fail("mode depth_first is not supported");
    op.add("SpaceToDepth", {op.input(0)}, {{"blocksize", block}});
    return;
  }
  op.add("DepthToSpace", {op.input(0)},
         {{"blocksize", block}, {"mode", mode == "blocks_first" ? "DCR" : "CRD"}});
}

void import_shuffle(IrOp& op) {  // ShuffleChannels: [n, g, c / g, ...] with the two exchanged
  op.check_inputs(1, 1);
  const IrShape& shape = op.input_shape(0);
  const int64_t axis = op.integer("axis", 1), groups = op.integer("group", 1);
  if (axis != 1 || shape.size() != 4 || groups < 1 || shape[1] < 1 || shape[1] % groups != 0)
    fail("it shuffles ", groups, " groups of axis ", axis, "; only channels of pictures are supported");
  const std::string parted = op.reshaped(op.input(0), {0, groups, shape[1] / groups, shape[2], shape[3]});
  const std::string turned = op.transposed(parted, {0, 2, 1, 3, 4});
  op.add("Reshape", {turned, op.integers_constant({0, shape[1], shape[2], shape[3]})});
}

void import_top_k(IrOp& op) {
  op.check_inputs(2, 2);
  op.expect("sort", {"value", "SORT_VALUES"});
  op.ignore("index_element_type");
  op.ignore("stable");
  const std::string mode = op.word("mode", "max");
  if (mode != "max" && mode != "min") fail("mode ", quoted(mode), " is not supported");
  op.add("TopK", {op.input(0), op.integers_constant({op.whole_number(1)})},
         {{"axis", op.integer("axis", -1)}, {"largest", mode == "max"}, {"sorted", 1}});
  auto& node = op.last_node();
  if (op.layer().outputs.size() > 1) node.output.push_back(op.output(1));
}

void import_parameter(IrOp& op) {
  op.check_inputs(0, 0);
  static constexpr std::pair<const char*, onnx_file::TensorProto::DataType> kTypes[] = {
      {"f32", onnx_file::TensorProto::FLOAT},  {"f16", onnx_file::TensorProto::FLOAT16},
      {"f64", onnx_file::TensorProto::DOUBLE}, {"i64", onnx_file::TensorProto::INT64},
      {"i32", onnx_file::TensorProto::INT32},  {"u8", onnx_file::TensorProto::UINT8},
      {"i8", onnx_file::TensorProto::INT8},    {"boolean", onnx_file::TensorProto::BOOL},
      {"i16", onnx_file::TensorProto::INT32},  {"u16", onnx_file::TensorProto::INT32}};
  const std::string type = op.word("element_type", "f32");
  if (type == "i16" || type == "u16")
    op.file().shared->notes.push_back(text("input ", quoted(op.output()), " is ", type,
                                           " in the file; here it is int32, with the same numbers"));
  auto& input = op.file().graph->input.add();
  input.name = op.output();
  auto& tensor = input.type.make().tensor_type.make();
  for (const auto& [name, number] : kTypes)
    if (type == name) tensor.elem_type = number;
  if (tensor.elem_type == 0) fail("element type ", quoted(type), " is not supported");
  for (const int64_t dim : op.integers("shape")) {
    auto& made = tensor.shape.make().dim.add();
    if (dim >= 0) made.dim_value = dim;
  }
}

void import_result(IrOp& op) {
  op.check_inputs(1, 1);
  op.file().graph->output.add().name = op.input(0);
}

void import_const(IrOp& op) {  // goes into the graph where it is read
  for (const char* const name : {"element_type", "shape", "offset", "size"}) op.ignore(name);
}

constexpr IrOperator kIrShapeOperators[] = {
    {"Broadcast", import_broadcast},
    {"Concat", import_concat},
    {"Const", import_const},
    {"DepthToSpace", import_depth_to_space},
    {"Gather", import_gather},
    {"Interpolate", import_interpolate},
    {"Pad", import_pad},
    {"Parameter", import_parameter},
    {"Reshape", import_reshape},
    {"Result", import_result},
    {"ShapeOf", import_shape_of},
    {"ShuffleChannels", import_shuffle},
    {"Slice", import_slice},
    {"SpaceToDepth", import_depth_to_space},
    {"Split", import_split},
    {"Squeeze", import_squeeze},
    {"StridedSlice", import_strided_slice},
    {"Tile", import_tile},
    {"TopK", import_top_k},
    {"Transpose", import_transpose},
    {"Unsqueeze", import_squeeze},
    {"VariadicSplit", import_variadic_split},
};

}  // namespace

Span<const IrOperator> ir_shape_operators() { return kIrShapeOperators; }

}  // namespace intaglio::importers
