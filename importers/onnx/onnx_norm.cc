// ONNX normalizations over axes of activations.
#include "importers/onnx/onnx_operators.h"

namespace intaglio::importers {
namespace {

float epsilon_of(OnnxOp& op) {
  const float epsilon = op.real("epsilon", 1e-5f);
  if (!(epsilon >= 0.0f)) fail("epsilon ", epsilon, " is not allowed");
  return epsilon;
}

// Input i, a constant of `count` values, or of one for all.
std::vector<float> parameter(OnnxOp& op, int i, int64_t count) {
  op.draft().budget->check_numbers(count);
  std::vector<float> values = op.floats(i).values;
  if (static_cast<int64_t>(values.size()) != count && values.size() != 1)
    fail("constant ", quoted(op.input_name(i)), " has ", values.size(), " values for ", count);
  if (values.size() == 1) values.resize(static_cast<size_t>(count), values[0]);
  return values;
}

// Normalizes [n, channels, ...]: each group of channels by its own mean and deviation, then each channel by factor and summand.
void import_groups(OnnxOp& op, int32_t x, int32_t groups, bool per_group) {
  const Shape shape = op.shape(x);
  if (shape.size() < 3) fail("its input has the shape ", shape_text(shape), "; rank 3 or more is expected");
  const int32_t channels = shape[1];
  if (groups < 1 || channels % groups != 0)
    fail(channels, " channels do not divide into ", groups, " groups");
  NormalizeOptions options;
  options.epsilon = epsilon_of(op);
  options.groups = groups;
  options.over_map = true;
  std::vector<float> parameters[2];
  for (const int i : {1, 2}) {
    std::vector<float>& values = parameters[i - 1];
    const std::vector<float> own = parameter(op, i, per_group ? groups : channels);
    for (size_t c = 0; c < static_cast<size_t>(channels); ++c)
      values.push_back(own[per_group ? c / static_cast<size_t>(channels / groups) : c]);
  }
  // As a picture, whatever number of axes there is.
  int64_t places = 1;
  for (size_t d = 3; d < shape.size(); ++d) places *= shape[d];
  const Shape picture{shape[0], channels, shape[2], narrow(places, "size")};
  const int32_t nchw = add_reshape(op.part("/picture"), x, picture);
  const int32_t y = add_normalize(op.result(), op.nhwc(nchw), options, parameters[0], parameters[1]);
  if (shape.size() == 4) return op.set_nhwc_output(y);
  const int32_t back = add_transpose(op.part("/channels"), y, {0, 3, 1, 2});
  op.set_output(add_reshape(op.result(), back, shape));
}

void import_layer_normalization(OnnxOp& op) {
  op.check_inputs(2, 3);
  op.check_outputs(1);
  op.ignore("stash_type");
  const int32_t x = op.activation(0);
  const Shape shape = op.shape(x);
  const auto first = static_cast<size_t>(normal_axis(op.integer("axis", -1), shape.size()));
  NormalizeOptions options;
  options.epsilon = epsilon_of(op);
  options.keeps_mean = op.source() != "LayerNormalization";  // RMSNormalization
  int64_t count = 1;
  for (size_t d = first; d < shape.size(); ++d) count *= shape[d];
  const std::vector<float> scale = parameter(op, 1, count);
  const std::vector<float> shift =
      op.has_input(2) ? parameter(op, 2, count) : std::vector<float>(static_cast<size_t>(count), 0.0f);
  Shape rows(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(first));
  rows.push_back(narrow(count, "size"));
  const int32_t flat = add_reshape(op.part("/rows"), x, rows);
  const int32_t y = add_normalize(op.result(), flat, options, scale, shift);
  op.set_output(add_reshape(op.result(), y, shape));
}

void import_instance_normalization(OnnxOp& op) {
  op.check_inputs(3, 3);
  import_channel_normalization(op);
}

void import_group_normalization(OnnxOp& op) {
  op.check_inputs(3, 3);
  op.ignore("stash_type");
  const int32_t groups = narrow(op.integer("num_groups", 0), "num_groups");
  import_groups(op, op.activation(0), groups, op.opset() < 21);
}

void import_log_softmax(OnnxOp& op) {
  op.check_inputs(1, 1);
  if (op.opset() < 13)
    fail("it is supported from opset 13 on; convert the model with onnx.version_converter");
  op.set_output(op.along_last_axis(op.activation(0), op.integer("axis", -1), [&](int32_t x) {
    const int32_t y = op.new_tensor(op.shape(x));
    add_log_softmax(op.origin(), x, y);
    return y;
  }));
}

constexpr OnnxOperator kOnnxNormOperators[] = {
    {"GroupNormalization", import_group_normalization, {Op::kNormalize}, "Scale and bias are constants."},
    {"InstanceNormalization",
     import_instance_normalization,
     {Op::kNormalize},
     "Scale and bias are constants."},
    {"LayerNormalization",
     import_layer_normalization,
     {Op::kNormalize},
     "Scale and bias are constants; the first output alone."},
    {"LogSoftmax", import_log_softmax, {Op::kMaxPool2d, Op::kExp, Op::kMean, Op::kLog}, "From opset 13 on."},
    {"RMSNormalization", import_layer_normalization, {Op::kNormalize}, "The scale is a constant."},
};

}  // namespace

void import_channel_normalization(OnnxOp& op) {
  const int32_t x = op.activation(0);
  const Shape& shape = op.shape(x);
  import_groups(op, x, shape.size() > 1 ? shape[1] : 0, false);
}

Span<const OnnxOperator> onnx_norm_operators() { return kOnnxNormOperators; }

}  // namespace intaglio::importers
