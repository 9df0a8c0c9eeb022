// Layers of an OpenVINO IR with weights or windows, normalizations, and reductions.
#include <algorithm>

#include "importers/openvino/ir_op.h"

namespace intaglio::importers {
namespace {

// Strides, dilations and pads, as ONNX has them.
IrOp::Attributes window_of(IrOp& op, bool has_dilations) {
  IrOp::Attributes made;
  const auto begin = op.integers("pads_begin"), end = op.integers("pads_end");
  const std::string automatic = op.word("auto_pad", "explicit");
  made.push_back({"strides", op.integers("strides")});
  if (has_dilations) made.push_back({"dilations", op.integers("dilations")});
  if (automatic == "same_upper" || automatic == "same_lower" || automatic == "valid") {
    made.push_back({"auto_pad", automatic == "valid"        ? "VALID"
                                : automatic == "same_upper" ? "SAME_UPPER"
                                                            : "SAME_LOWER"});
    return made;
  }
  if (automatic != "explicit" && automatic != "notset")
    fail("auto_pad ", quoted(automatic), " is not supported");
  if (begin.size() != end.size()) fail("pads_begin and pads_end have different lengths");
  std::vector<int64_t> pads = begin;
  pads.insert(pads.end(), end.begin(), end.end());
  if (!pads.empty()) made.push_back({"pads", pads});
  return made;
}

IrShape weights_shape(IrOp& op, size_t least) {
  const IrShape& shape = op.input_shape(1);
  if (shape.size() < least || std::any_of(shape.begin(), shape.end(), [](int64_t dim) { return dim < 1; }))
    fail("its weights have no closed shape of ", least, " axes or more");
  return shape;
}

void import_convolution(IrOp& op) {
  op.check_inputs(2, 2);
  op.add("Conv", {op.input(0), ir_weights(op, op.source(1), weights_shape(op, 3))}, window_of(op, true));
}

// Weights [groups, out, in, ...] here, [groups * out, in, ...] there.
void import_group_convolution(IrOp& op) {
  op.check_inputs(2, 2);
  IrShape shape = weights_shape(op, 4);
  auto attributes = window_of(op, true);
  attributes.push_back({"group", shape[0]});
  shape[1] *= shape[0];
  shape.erase(shape.begin());
  op.add("Conv", {op.input(0), ir_weights(op, op.source(1), shape)}, attributes);
}

// Pads and further rows that give the output this size. `from` [n, c, ...], a window of `shape` [.., .., ...].
void fit_output(IrOp& op, const IrShape& from, const IrShape& window, IrOp::Attributes& attributes) {
  constexpr int64_t kMost = int64_t{1} << 20;  // of each number: products stay within 64 bits
  const size_t axes = window.size() - 2;
  if (from.size() != window.size()) fail("its input and its weights have different ranks");
  const auto list = [&](const char* name, int64_t otherwise) {
    std::vector<int64_t> values = op.integers(name);
    if (values.empty()) values.assign(axes, otherwise);
    if (values.size() != axes)
      fail("its attribute ", name, " has ", values.size(), " numbers for ", axes, " axes");
    for (const int64_t value : values)
      if (value < 0 || value > kMost) fail("its attribute ", name, " holds ", value);
    return values;
  };
  const auto strides = list("strides", 1), dilations = list("dilations", 1), begin = list("pads_begin", 0),
             further = list("output_padding", 0);
  op.ignore("pads_end");
  std::vector<int64_t> sizes;
  if (op.is_constant(op.source(2))) {
    sizes = op.whole_numbers(2);
  } else if (op.output_shape().size() == window.size()) {
    sizes.assign(op.output_shape().begin() + 2, op.output_shape().end());
  }
  if (sizes.size() != axes) fail("its output shape has ", sizes.size(), " numbers for ", axes, " axes");
  op.expect("auto_pad", {"explicit", "notset", "same_lower", "same_upper", "valid"});
  const std::string automatic = op.word("auto_pad", "explicit");
  std::vector<int64_t> before, after, rest;
  for (size_t d = 0; d < axes; ++d) {
    const int64_t in = from[2 + d], kernel = window[2 + d];
    if (in < 1 || in > kMost || sizes[d] < 1 || sizes[d] > kMost || kernel > kMost)
      fail("its shape is open, or a side beyond ", kMost, "; convert the network with closed shapes");
    const int64_t whole = strides[d] * (in - 1) + dilations[d] * (kernel - 1) + 1 + further[d];
    const int64_t cut = whole - sizes[d];  // below 0: there are further rows at the end
    if (automatic == "same_lower")
      before.push_back(std::max<int64_t>(cut, 0) / 2);
    else if (automatic == "same_upper")
      before.push_back((std::max<int64_t>(cut, 0) + 1) / 2);
    else if (automatic == "valid")
      before.push_back(0);
    else
      before.push_back(begin[d]);
    const int64_t behind = cut - before[d];
    after.push_back(std::max<int64_t>(behind, 0));
    rest.push_back(further[d] + std::max<int64_t>(-behind, 0));
  }
  before.insert(before.end(), after.begin(), after.end());
  attributes.insert(
      attributes.end(),
      {{"strides", strides}, {"dilations", dilations}, {"pads", before}, {"output_padding", rest}});
}

void import_transposed(IrOp& op, bool in_groups) {
  op.check_inputs(2, 3);
  // A size that a run computes, and that the file leaves open, is what the windows give. Batch and channels are no size.
  const auto has_open_side = [&] {
    const IrShape& shape = op.output_shape();
    return std::count(shape.begin() + std::min<std::ptrdiff_t>(2, shape.end() - shape.begin()), shape.end(),
                      -1) > 0;
  };
  const bool is_open = op.has_input(2) && !op.is_constant(op.source(2)) && has_open_side();
  if (is_open)
    op.file().shared->notes.push_back(
        text("layer ", quoted(op.layer().name),
             " computes the size of its output; here it is what its windows give"));
  const bool has_size = op.has_input(2) && !is_open;
  IrShape shape = weights_shape(op, in_groups ? 4 : 3);
  auto attributes = has_size ? IrOp::Attributes() : window_of(op, true);
  if (in_groups) {  // [groups, in, out, ...] here, [groups * in, out, ...] there
    attributes.push_back({"group", shape[0]});
    shape[1] *= shape[0];
    shape.erase(shape.begin());
  }
  const auto padding = op.integers("output_padding");
  if (has_size)
    fit_output(op, op.input_shape(0), shape, attributes);
  else if (!padding.empty())
    attributes.push_back({"output_padding", padding});
  op.add("ConvTranspose", {op.input(0), ir_weights(op, op.source(1), shape)}, attributes);
}
void import_transposed_convolution(IrOp& op) { import_transposed(op, false); }
void import_group_transposed_convolution(IrOp& op) { import_transposed(op, true); }

void import_pool(IrOp& op) {
  op.check_inputs(1, 1);
  const bool is_max = op.layer().type == "MaxPool";
  auto attributes = window_of(op, false);
  attributes.push_back({"kernel_shape", op.integers("kernel")});
  const std::string rounding = op.word("rounding_type", "floor");
  if (rounding != "floor" && rounding != "ceil" && rounding != "ceil_torch")
    fail("rounding_type ", quoted(rounding), " is not supported");
  attributes.push_back({"ceil_mode", rounding != "floor"});
  if (is_max) {
    const auto dilations = op.integers("dilations");
    if (!dilations.empty()) attributes.push_back({"dilations", dilations});
    op.ignore("index_element_type");
    if (op.integer("axis", 0) != 0 && op.is_read(1))
      fail("places that are counted from axis 1 on are not supported");
  } else {
    attributes.push_back({"count_include_pad", !op.flag("exclude-pad", true)});
  }
  op.add(is_max ? "MaxPool" : "AveragePool", {op.input(0)}, attributes);
  if (is_max && op.is_read(1)) op.last_node().output.push_back(op.output(1));
}

void import_mat_mul(IrOp& op) {
  op.check_inputs(2, 2);
  const bool transpose_a = op.flag("transpose_a", false), transpose_b = op.flag("transpose_b", false);
  const auto operand = [&](size_t i, bool is_transposed) {
    const size_t rank = op.input_shape(i).size();
    if (!is_transposed || rank < 2) return op.input(i);
    std::vector<int64_t> order(rank);
    for (size_t d = 0; d < rank; ++d) order[d] = static_cast<int64_t>(d);
    std::swap(order[rank - 1], order[rank - 2]);
    return op.transposed(op.input(i), order);
  };
  const std::string left_operand = operand(0, transpose_a), right_operand = operand(1, transpose_b);
  op.add("MatMul", {left_operand, right_operand});
}

void import_reduce(IrOp& op) {
  op.check_inputs(2, 2);
  const std::vector<int64_t> axes = op.whole_numbers(1);
  op.add(op.layer().type.c_str(), {op.input(0), op.integers_constant(axes)},
         {{"keepdims", op.flag("keep_dims", false)}});
}

void import_softmax(IrOp& op) {
  op.check_inputs(1, 1);
  op.add(op.layer().type == "LogSoftmax" ? "LogSoftmax" : "Softmax", {op.input(0)},
         {{"axis", op.integer("axis", 1)}});
}

void import_batch_norm(IrOp& op) {
  op.check_inputs(5, 5);
  op.add("BatchNormalization", {op.input(0), op.input(1), op.input(2), op.input(3), op.input(4)},
         {{"epsilon", static_cast<float>(op.real("epsilon", 1e-5))}});
}

// (x - mean) / sqrt(variance + eps), or x - mean alone
void import_mvn(IrOp& op) {
  op.check_inputs(2, 2);
  op.expect("eps_mode", {"inside_sqrt", "INSIDE_SQRT"});
  const std::vector<int64_t> axes = op.whole_numbers(1);
  const IrOp::Attributes keep{{"keepdims", 1}};
  const auto axes_constant = [&] { return op.integers_constant(axes); };
  const auto eps = static_cast<float>(op.real("eps", 1e-5));
  const std::string mean = op.add_inner("ReduceMean", {op.input(0), axes_constant()}, keep);
  if (!op.flag("normalize_variance", true)) {
    op.add("Sub", {op.input(0), mean});
    return;
  }
  const std::string centred = op.add_inner("Sub", {op.input(0), mean});
  const std::string squares = op.add_inner("Mul", {centred, centred});
  const std::string variance = op.add_inner("ReduceMean", {squares, axes_constant()}, keep);
  const std::string deviation = op.add_inner("Sqrt", {op.add_inner("Add", {variance, op.number(eps)})});
  op.add("Div", {centred, deviation});
}

// x / sqrt(max(sum of x^2, eps)), or with the sum plus eps
void import_normalize_l2(IrOp& op) {
  op.check_inputs(2, 2);
  const std::vector<int64_t> axes = op.whole_numbers(1);
  const std::string mode = op.word("eps_mode", "add");
  if (mode != "add" && mode != "max") fail("eps_mode ", quoted(mode), " is not supported");
  const std::string squares = op.add_inner("Mul", {op.input(0), op.input(0)});
  const std::string sum = op.add_inner("ReduceSum", {squares, op.integers_constant(axes)}, {{"keepdims", 1}});
  const std::string bounded =
      op.add_inner(mode == "max" ? "Max" : "Add", {sum, op.number(static_cast<float>(op.real("eps", 0.0)))});
  op.add("Div", {op.input(0), op.add_inner("Sqrt", {bounded})});
}

constexpr IrOperator kIrLayerOperators[] = {
    {"AvgPool", import_pool},
    {"BatchNormInference", import_batch_norm},
    {"Convolution", import_convolution},
    {"ConvolutionBackpropData", import_transposed_convolution},
    {"GroupConvolution", import_group_convolution},
    {"GroupConvolutionBackpropData", import_group_transposed_convolution},
    {"LogSoftmax", import_softmax},
    {"MVN", import_mvn},
    {"MatMul", import_mat_mul},
    {"MaxPool", import_pool},
    {"NormalizeL2", import_normalize_l2},
    {"ReduceL1", import_reduce},
    {"ReduceL2", import_reduce},
    {"ReduceMax", import_reduce},
    {"ReduceMean", import_reduce},
    {"ReduceMin", import_reduce},
    {"ReduceProd", import_reduce},
    {"ReduceSum", import_reduce},
    {"SoftMax", import_softmax},
    {"Softmax", import_softmax},
};

}  // namespace

Span<const IrOperator> ir_layer_operators() { return kIrLayerOperators; }

}  // namespace intaglio::importers
