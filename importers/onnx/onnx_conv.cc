// ONNX convolution and batch normalization.
#include <tuple>

#include "importers/draft/transposed_conv.h"
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
  const auto kernel = op.spatial("kernel_shape", 1, 1);
  if (!kernel.empty() && (kernel[0] != weights[2] || kernel[1] != weights[3]))
    fail("its kernel_shape is not that of its weights ", shape_text(weights));
}

// Weights of rank 4; those of one dimension, for an input of rank 3, as of one row.
OnnxConstant<float> read_weights(OnnxOp& op) {
  OnnxConstant<float> w = op.floats(1);
  const size_t rank = op.draft().tensor(op.activation(0)).shape.size();
  if (w.shape.size() != rank)
    fail("its weights have the shape ", shape_text(w.shape), "; rank ", rank,
         " is expected, as of its input");
  if (rank == 3) w.shape.insert(w.shape.begin() + 2, 1);
  check_shape(w.shape, DType::kF32);
  check_kernel_shape(op, w.shape);
  return w;
}

int32_t add_bias(OnnxOp& op, int32_t channels) {
  const std::vector<float> b = op.has_input(2) ? channel_values(op, 2, channels)
                                               : std::vector<float>(static_cast<size_t>(channels), 0.0f);
  return add_constant(op.draft(), op.has_input(2) ? op.input_name(2) : op.input_name(1) + "/bias",
                      DType::kF32, {channels}, b);
}

void import_conv(OnnxOp& op) {
  op.check_inputs(2, 3);
  const int32_t x = op.nhwc_or_line(op.activation(0));
  const Shape shape = op.draft().tensor(x).shape;
  const OnnxConstant<float> w = read_weights(op);
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
  const int32_t bias = add_bias(op, channels);
  const int32_t y = op.new_tensor(out);
  DraftNode& node = op.add(depthwise ? Op::kDepthwiseConv2d : Op::kConv2d, {x, weights, bias}, y);
  if (!depthwise) node.options.as<Conv2dOptions>().groups = groups;
  node.options.as<Window2d>() = {kernel_h,
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

void import_conv_transpose(OnnxOp& op) {
  op.check_inputs(2, 3);
  const int32_t x = op.nhwc_or_line(op.activation(0));
  const Shape shape = op.draft().tensor(x).shape;
  const OnnxConstant<float> w = read_weights(op);  // [c, oc / groups, kh, kw]
  TransposedConv conv;
  conv.groups = narrow(op.integer("group", 1), "group");
  if (conv.groups < 1 || w.shape[0] != shape[3] || shape[3] % conv.groups != 0)
    fail(conv.groups, " groups and weights ", shape_text(w.shape), " do not fit an input of ", shape[3],
         " channels");
  const int32_t each = w.shape[1], depth = shape[3] / conv.groups, channels = each * conv.groups;

  const OnnxWindow window = read_onnx_window(op, shape, w.shape[2], w.shape[3]);
  const auto extra = op.spatial("output_padding", 1, 0), wanted = op.spatial("output_shape", 1, 1);
  const std::string mode = op.string("auto_pad", "NOTSET");
  const auto axis = [&](WindowAxis read, int32_t in, size_t i) {
    const int32_t more = extra.empty() ? 0 : narrow(extra[i], "output padding");
    const bool same = mode == "SAME_UPPER" || mode == "SAME_LOWER";
    if (same || !wanted.empty()) {  // the size is given, and padding follows from it
      read.before = read.after = 0;
      const int64_t out = wanted.empty() ? int64_t{in} * read.stride : wanted[i];
      const int64_t cut = transposed_output(read, in, more) - out;
      if (out < 1 || cut < 0) fail("its output cannot have ", out, " elements along an axis");
      read.before = narrow(mode == "SAME_UPPER" ? cut / 2 : cut - cut / 2, "padding");
      read.after = narrow(cut - read.before, "padding");
    }
    return std::make_pair(read, transposed_output(read, in, more));
  };
  std::tie(conv.h, conv.out_h) = axis(window.h, shape[1], 0);
  std::tie(conv.w, conv.out_w) = axis(window.w, shape[2], 1);

  DraftTensor weights, source;
  set_values(source, w.values);
  weights.name = op.input_name(1);
  weights.constant = true;
  weights.shape = {channels, w.shape[2], w.shape[3], depth};
  weights.data =
      permuted_data(source.data, 4, {conv.groups, depth, each, w.shape[2] * w.shape[3]}, {0, 2, 3, 1});
  const DraftTensor bias = op.draft().tensor(add_bias(op, channels));
  const Shape out{shape[0], conv.out_h, conv.out_w, channels};
  check_shape(out, DType::kF32);
  const int32_t y = op.new_tensor(out);
  add_transposed_conv(op.draft(), op.name(), op.source(), x, weights, bias, y, conv);
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
  if (rank < 2 || rank > 4) fail("its input has rank ", rank, "; 2 to 4 are supported");
  const int32_t x = rank == 2 ? input : op.nhwc_or_line(input);
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
  rank == 2 ? op.set_output(y) : op.set_nhwc_output(y);
}

constexpr OnnxOperator kOperators[] = {
    {"BatchNormalization",
     import_batch_normalization,
     {Op::kDepthwiseConv2d},
     "Rank 2 to 4, inference only. It goes into the weights before it where it can; of rank 2 it must."},
    {"Conv",
     import_conv,
     {Op::kConv2d, Op::kDepthwiseConv2d},
     "One or two dimensions. Weights and bias are constants."},
    {"ConvTranspose",
     import_conv_transpose,
     {Op::kConv2d, Op::kDepthwiseConv2d, Op::kTranspose, Op::kStridedSlice},
     "One or two dimensions. Weights and bias are constants. It becomes a convolution whose channels are the phases of the stride."},
};

}  // namespace

Span<const OnnxOperator> onnx_conv_operators() { return kOperators; }

}  // namespace intaglio::importers
