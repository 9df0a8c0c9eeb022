// ONNX convolution and batch normalization.
#include "importers/onnx/onnx_operators.h"

namespace intaglio::importers {
namespace {

// A weight or parameter vector that must have one value a channel.
std::vector<float> channel_values(OnnxOp& op, int input, int64_t channels) {
  OnnxConstant<float> constant = op.floats(input);
  if (static_cast<int64_t>(constant.values.size()) != channels)
    fail("constant ", quoted(op.input_name(input)), " has ", constant.values.size(), " values for ", channels,
         " channels");
  return std::move(constant.values);
}

void check_kernel_shape(const OnnxOp& op, const Shape& weights) {
  const auto kernel = op.integers("kernel_shape");
  if (!kernel.empty() && (kernel.size() != 2 || kernel[0] != weights[2] || kernel[1] != weights[3]))
    fail("its kernel_shape is not that of its weights ", shape_text(weights));
}

void import_conv(OnnxOp& op) {
  op.check_inputs(2, 3);
  const int32_t x = op.nhwc(op.activation(0));
  const Shape shape = op.draft().tensor(x).shape;
  const OnnxConstant<float> w = op.floats(1);
  if (w.shape.size() != 4) fail("its weights have the shape ", shape_text(w.shape), "; rank 4 is expected");
  check_shape(w.shape, DType::kF32);
  check_kernel_shape(op, w.shape);
  const int32_t channels = w.shape[0], kernel_h = w.shape[2], kernel_w = w.shape[3];
  const int32_t groups = narrow(op.integer("group", 1), "group");
  if (groups < 1 || int64_t{groups} * w.shape[1] != shape[3] || channels % groups != 0)
    fail(groups, " groups and weights ", shape_text(w.shape), " do not fit an input of ", shape[3],
         " channels");
  const OnnxWindow window = read_onnx_window(op, shape, kernel_h, kernel_w);
  const Shape out{shape[0], window_output(window.h, shape[1]), window_output(window.w, shape[2]), channels};

  const bool depthwise = groups > 1 && groups == shape[3];
  const std::string& name = op.input_name(1);
  DraftTensor source;
  set_values(source, w.values);
  const int32_t weights =
      depthwise ? add_constant_bytes(op.draft(), name, DType::kF32, {kernel_h, kernel_w, channels},
                                     permuted_data(source.data, 4, {channels, kernel_h, kernel_w}, {1, 2, 0}))
                : add_constant_bytes(op.draft(), name, DType::kF32, permuted(w.shape, kToNhwc),
                                     permuted_data(source.data, 4, w.shape, kToNhwc));
  op.take_grid(1, 0, weights, depthwise ? 2 : 0);
  const std::vector<float> b = op.has_input(2) ? channel_values(op, 2, channels)
                                               : std::vector<float>(static_cast<size_t>(channels), 0.0f);
  const int32_t bias = add_constant(op.draft(), op.has_input(2) ? op.input_name(2) : name + "/bias",
                                    DType::kF32, {channels}, b);
  const int32_t y = op.new_tensor(out);
  DraftNode& node = op.add(depthwise ? Op::kDepthwiseConv2d : Op::kConv2d, {x, weights, bias}, y);
  node.options.groups = depthwise ? 1 : groups;
  node.options.window = {kernel_h,
                         kernel_w,
                         window.h.stride,
                         window.w.stride,
                         window.h.dilation,
                         window.w.dilation,
                         window.h.before,
                         window.w.before,
                         window.h.after,
                         window.w.after,
                         false};
  op.set_nhwc_output(y);
}

void import_batch_normalization(OnnxOp& op) {
  op.check_inputs(5, 5);
  if (op.integer("training_mode", 0) != 0) fail("it is in training mode; export the model for inference");
  if (op.integer("spatial", 1) != 1) fail("spatial=0 is not supported");
  op.ignore("momentum");
  op.ignore("is_test");
  const float epsilon = op.real("epsilon", 1e-5f);
  const int32_t input = op.activation(0);
  const size_t rank = op.draft().tensor(input).shape.size();
  if (rank != 2 && rank != 4) fail("its input has rank ", rank, "; 2 or 4 is expected");
  const int32_t x = rank == 4 ? op.nhwc(input) : input;
  const Shape shape = op.draft().tensor(x).shape;
  const int32_t channels = shape.back();
  std::vector<int32_t> inputs{x};
  for (int i = 1; i < 5; ++i) {
    const std::vector<float> values = channel_values(op, i, channels);
    for (size_t c = 0; i == 4 && c < values.size(); ++c)
      if (!(values[c] + epsilon > 0.0f))
        fail("variance ", values[c], " with epsilon ", epsilon, " in channel ", c,
             " has no square root above 0");
    inputs.push_back(add_constant(op.draft(), op.input_name(i), DType::kF32, {channels}, values));
  }
  const int32_t y = op.new_tensor(shape);
  op.add(kBatchNorm, inputs, y).epsilon = epsilon;
  rank == 4 ? op.set_nhwc_output(y) : op.set_output(y);
}

constexpr OnnxOperator kOperators[] = {
    {"BatchNormalization",
     import_batch_normalization,
     {Op::kDepthwiseConv2d},
     "Rank 2 or 4, inference only. It goes into the weights before it where it can; of rank 2 it must."},
    {"Conv",
     import_conv,
     {Op::kConv2d, Op::kDepthwiseConv2d},
     "Two dimensions. Weights and bias are constants."},
};

}  // namespace

Span<const OnnxOperator> onnx_conv_operators() { return kOperators; }

}  // namespace intaglio::importers
