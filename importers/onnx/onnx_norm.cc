// ONNX normalizations over axes of activations, and what else is a few plain operators: means, differences, products.
#include <algorithm>
#include <cmath>

#include "importers/onnx/onnx_operators.h"

namespace intaglio::importers {
namespace {

int32_t add_mean(OnnxOp& op, int32_t x, const std::vector<int32_t>& axes) {
  Shape shape = op.draft().tensor(x).shape;
  for (const int32_t axis : axes) shape[static_cast<size_t>(axis)] = 1;
  const int32_t y = op.new_tensor(shape);
  op.add(Op::kMean, {x}, y).options.as<ReduceOptions>().axes = op.draft().list(axes);
  return y;
}

int32_t add_constant(OnnxOp& op, const std::string& name, const Shape& shape,
                     const std::vector<float>& values) {
  return importers::add_constant(op.draft(), name, DType::kF32, shape, values);
}

// x / sqrt(mean(x^2) + epsilon) over the axes, which are last.
int32_t over_root_mean_square(OnnxOp& op, int32_t x, const std::vector<int32_t>& axes, float epsilon) {
  if (!(epsilon >= 0.0f)) fail("epsilon ", epsilon, " is not allowed");
  const int32_t power = add_mean(op, add_binary(op, Op::kMul, x, x), axes);
  const Shape ones(op.draft().tensor(x).shape.size(), 1);
  const int32_t sum =
      add_binary(op, Op::kAdd, power, add_constant(op, op.name() + "/epsilon", ones, {epsilon}));
  return add_binary(op, Op::kMul, x, add_unary(op, Op::kRsqrt, sum));
}

int32_t without_mean(OnnxOp& op, int32_t x, const std::vector<int32_t>& axes) {
  return add_binary(op, Op::kSub, x, add_mean(op, x, axes));
}

// A factor or a summand: input i, a constant of `shape` behind axes of 1.
int32_t add_parameter(OnnxOp& op, int i, Shape shape, size_t rank) {
  const OnnxConstant<float> constant = op.floats(i);
  if (static_cast<int64_t>(constant.values.size()) != elements(shape) && constant.values.size() != 1)
    fail("constant ", quoted(op.input_name(i)), " has ", constant.values.size(), " values for ",
         elements(shape));
  if (constant.values.size() == 1) shape.assign(1, 1);
  shape.insert(shape.begin(), rank - shape.size(), 1);
  return add_constant(op, op.input_name(i), shape, constant.values);
}

// The axes from `first` on.
std::vector<int32_t> axes_from(size_t first, size_t rank) {
  std::vector<int32_t> axes;
  for (size_t d = first; d < rank; ++d) axes.push_back(static_cast<int32_t>(d));
  return axes;
}

// Of [n, channels, ...]: each group of channels by its own mean and deviation, then each channel by factor and summand.
int32_t add_group_normalization(OnnxOp& op, int32_t x, int32_t groups, float epsilon, bool per_group) {
  const Shape shape = op.draft().tensor(x).shape;
  if (shape.size() < 3) fail("its input has the shape ", shape_text(shape), "; rank 3 or more is expected");
  const int32_t channels = shape[1];
  if (groups < 1 || channels % groups != 0)
    fail(channels, " channels do not divide into ", groups, " groups");
  int64_t places = 1;
  for (size_t d = 2; d < shape.size(); ++d) places *= shape[d];
  const Shape rows{shape[0], groups, channels / groups, narrow(places, "size")};
  int32_t y = add_reshape(op.draft(), op.name() + "/groups", op.source(), x, rows);
  y = over_root_mean_square(op, without_mean(op, y, {2, 3}), {2, 3}, epsilon);
  if (per_group) {
    y = add_binary(op, Op::kMul, y, add_parameter(op, 1, {groups, 1, 1}, 4));
    y = add_binary(op, Op::kAdd, y, add_parameter(op, 2, {groups, 1, 1}, 4));
    return add_reshape(op.draft(), op.output_name(), op.source(), y, shape);
  }
  const int32_t back = add_reshape(op.draft(), op.name() + "/channels", op.source(), y, shape);
  Shape channel(shape.size() - 1, 1);
  channel[0] = channels;
  y = add_binary(op, Op::kMul, back, add_parameter(op, 1, channel, shape.size()));
  return add_binary(op, Op::kAdd, y, add_parameter(op, 2, channel, shape.size()));
}

void only_first_output(const OnnxOp& op) {
  for (int i = 1; i < op.output_count(); ++i)
    if (!op.output_name(i).empty())
      fail("its output ", quoted(op.output_name(i)), " is not supported; only the first is");
}

void import_layer_normalization(OnnxOp& op) {
  op.check_inputs(2, 3);
  only_first_output(op);
  op.ignore("stash_type");
  const int32_t x = op.activation(0);
  const Shape shape = op.draft().tensor(x).shape;
  const auto first = static_cast<size_t>(normal_axis(op.integer("axis", -1), shape.size()));
  const std::vector<int32_t> axes = axes_from(first, shape.size());
  const Shape inner(shape.begin() + static_cast<std::ptrdiff_t>(first), shape.end());
  const float epsilon = op.real("epsilon", 1e-5f);
  const bool centred = op.source() == "LayerNormalization";  // else RMSNormalization
  int32_t y = over_root_mean_square(op, centred ? without_mean(op, x, axes) : x, axes, epsilon);
  y = add_binary(op, Op::kMul, y, add_parameter(op, 1, inner, shape.size()));
  if (op.has_input(2)) y = add_binary(op, Op::kAdd, y, add_parameter(op, 2, inner, shape.size()));
  op.set_output(y);
}

void import_instance_normalization(OnnxOp& op) {
  op.check_inputs(3, 3);
  const int32_t x = op.activation(0);
  const Shape& shape = op.draft().tensor(x).shape;
  const int32_t channels = shape.size() > 1 ? shape[1] : 0;
  op.set_output(add_group_normalization(op, x, channels, op.real("epsilon", 1e-5f), false));
}

void import_group_normalization(OnnxOp& op) {
  op.check_inputs(3, 3);
  op.ignore("stash_type");
  const int32_t groups = narrow(op.integer("num_groups", 0), "num_groups");
  op.set_output(
      add_group_normalization(op, op.activation(0), groups, op.real("epsilon", 1e-5f), op.opset() < 21));
}

void import_log_softmax(OnnxOp& op) {
  op.check_inputs(1, 1);
  if (op.opset() < 13)
    fail("it is supported from opset 13 on; convert the model with onnx.version_converter");
  op.set_output(op.along_last_axis(op.activation(0), op.integer("axis", -1), [&](int32_t x) {
    const int32_t y = op.new_tensor(op.draft().tensor(x).shape);
    add_log_softmax(op.draft(), op.name(), op.source(), x, y);
    return y;
  }));
}

constexpr OnnxOperator kOperators[] = {
    {"GroupNormalization",
     import_group_normalization,
     {Op::kMean, Op::kSub, Op::kMul, Op::kRsqrt},
     "Scale and bias are constants."},
    {"InstanceNormalization",
     import_instance_normalization,
     {Op::kMean, Op::kSub, Op::kMul, Op::kRsqrt},
     "Scale and bias are constants."},
    {"LayerNormalization",
     import_layer_normalization,
     {Op::kMean, Op::kSub, Op::kMul, Op::kRsqrt},
     "Scale and bias are constants; the first output alone."},
    {"LogSoftmax",
     import_log_softmax,
     {Op::kMaxPool2d, Op::kExp, Op::kMean, Op::kLog},
     "From opset 13 on; at most 4096 elements."},
    {"RMSNormalization",
     import_layer_normalization,
     {Op::kMean, Op::kMul, Op::kRsqrt},
     "The scale is a constant."},
};

}  // namespace

Span<const OnnxOperator> onnx_norm_operators() { return kOperators; }

}  // namespace intaglio::importers
