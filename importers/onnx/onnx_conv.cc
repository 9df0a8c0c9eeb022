// ONNX convolution and batch normalization.
#include <algorithm>
#include <cmath>
#include <tuple>

#include "importers/draft/conv_forms.h"
#include "importers/draft/quantized_tables.h"
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
OnnxConstant<float> as_planes(OnnxOp& op, OnnxConstant<float> w) {
  const size_t rank = op.shape(op.activation(0)).size();
  if (w.shape.size() != rank)
    fail("its weights have the shape ", shape_text(w.shape), "; rank ", rank,
         " is expected, as of its input");
  if (rank == 3) w.shape.insert(w.shape.begin() + 2, 1);
  check_shape(w.shape, DType::kF32);
  check_kernel_shape(op, w.shape);
  return w;
}

// `has_one`: it may be input 2.
int32_t add_bias(OnnxOp& op, int32_t channels, bool has_one) {
  const bool is_given = has_one && op.has_input(2);
  const std::vector<float> b =
      is_given ? channel_values(op, 2, channels) : std::vector<float>(static_cast<size_t>(channels), 0.0f);
  return add_constant(op.draft(), is_given ? op.input_name(2) : op.input_name(1) + "/bias", DType::kF32,
                      {channels}, b);
}

// The padding that the runtime's windows cannot have, since they would lie in it alone, as zeros around x.
int32_t pad_beyond_window(OnnxOp& op, int32_t x, OnnxWindow& window) {
  Shape shape = op.shape(x);
  std::vector<int32_t> before(4, 0), after(4, 0);
  const auto take = [&](WindowAxis& axis, size_t d) {
    const int64_t most = int64_t{axis.kernel - 1} * axis.dilation;
    const auto beyond = [&](int32_t& pad) {
      if (pad <= most) return 0;
      const auto more = static_cast<int32_t>(pad - most);
      pad = static_cast<int32_t>(most);
      return more;
    };
    before[d] = beyond(axis.before);
    after[d] = beyond(axis.after);
    shape[d] = narrow(int64_t{shape[d]} + before[d] + after[d], "size");
  };
  take(window.h, 1);
  take(window.w, 2);
  if (shape == op.shape(x)) return x;
  check_shape(shape, op.draft().tensor(x).dtype);
  const int32_t padded = add_activation_like(op.draft(), op.name() + "/padded", x, shape);
  add_pad(op.origin(), x, before, after, padded);
  return padded;
}

// Convolves x [n, h, w, c] with weights [oc, c / groups, kh, kw], to [n, oh, ow, oc].
int32_t add_convolution(OnnxOp& op, int32_t x, const OnnxConstant<float>& w, int32_t groups,
                        OnnxWindow window, bool has_bias) {
  x = pad_beyond_window(op, x, window);
  const Shape shape = op.shape(x);
  const int32_t channels = w.shape[0], kernel_h = w.shape[2], kernel_w = w.shape[3];
  if (groups < 1 || int64_t{groups} * w.shape[1] != shape[3] || channels % groups != 0)
    fail(groups, " groups and weights ", shape_text(w.shape), " do not fit an input of ", shape[3],
         " channels");
  const Shape out = window_shape(shape, window.h, window.w, channels);

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
  const int32_t bias = add_bias(op, channels, has_bias);
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
  return y;
}

int32_t read_groups(OnnxOp& op) { return narrow(op.integer("group", 1), "group"); }

// [n * depth, h, w, c] as the file's [n, c, depth, h, w].
void set_volume_output(OnnxOp& op, int32_t y, int32_t n) {
  const Shape shape = op.shape(y);
  y = add_reshape(op.result(), y, {n, shape[0] / n, shape[1], shape[2], shape[3]});
  op.set_output(add_transpose(op.result(), y, {0, 4, 1, 2, 3}));
}

// Weights of rank 5, their axes in another order, as of rank 4: two axes become one.
OnnxConstant<float> joined_weights(const OnnxConstant<float>& w, const Shape& as, const Permutation& order,
                                   const Shape& to) {
  DraftTensor source;
  set_values(source, w.values);
  source.data = permuted_data(source.data, 4, as, order);
  return {to, values_of<float>(source)};
}

OnnxConstant<float> read_volume_weights(OnnxOp& op) {
  OnnxConstant<float> w = op.floats(1);
  if (w.shape.size() != 5)
    fail("its weights have the shape ", shape_text(w.shape), "; rank 5 is expected, as of its input");
  check_shape(w.shape, DType::kF32);
  const auto kernel = op.spatial("kernel_shape", 1, 1);
  for (size_t i = 0; i < kernel.size(); ++i)
    if (kernel[i] != w.shape[i + 2])
      fail("its kernel_shape is not that of its weights ", shape_text(w.shape));
  return w;
}

void import_volume_conv(OnnxOp& op) {
  const int32_t x = op.ndhwc(op.activation(0));
  const Shape shape = op.shape(x);
  const OnnxConstant<float> w = read_volume_weights(op);  // [oc, c / groups, kd, kh, kw]
  const int32_t groups = read_groups(op), oc = w.shape[0], each = w.shape[1], kd = w.shape[2];
  const auto axes = read_onnx_windows(op, {shape[1], shape[2], shape[3]}, {kd, w.shape[3], w.shape[4]});
  const WindowAxis& depth = axes[0];
  const int32_t out = window_output(depth, shape[1]);
  const OnnxConstant<float> planes =
      joined_weights(w, {oc, each, kd, w.shape[3] * w.shape[4]}, {0, 2, 1, 3},
                     {oc, narrow(int64_t{kd} * each, "channels"), w.shape[3], w.shape[4]});
  const int32_t pictures =
      add_stacked_slices(op.origin(), x, groups, kd, window_slices(op.draft(), depth, shape[1], out));
  set_volume_output(op, add_convolution(op, pictures, planes, groups, {axes[1], axes[2]}, true), shape[0]);
}

// Weights that a run computes as [oc, kh, kw, c / groups], or of a transposed convolution from [c, oc / groups, kh, kw].
int32_t computed_weights(OnnxOp& op, size_t rank, int32_t transposed_groups) {
  if (rank != 3 && rank != 4)
    fail("its weights are computed by a run; that is supported in one dimension and in two");
  int32_t w = op.activation(1);
  Shape shape = op.shape(w);
  if (shape.size() != rank)
    fail("its weights have the shape ", shape_text(shape), "; rank ", rank, " is expected, as of its input");
  if (rank == 3) shape.insert(shape.begin() + 2, 1);
  check_kernel_shape(op, shape);
  const auto turned = [&](const Permutation& order) { return add_transpose(op.part("/weights"), w, order); };
  const auto reshaped = [&](const Shape& to) { return add_reshape(op.part("/weights"), w, to); };
  if (transposed_groups == 0) {
    w = reshaped(shape);
    return turned(kToNhwc);
  }
  if (transposed_groups < 0 || shape[0] % transposed_groups != 0)
    fail(transposed_groups, " groups and weights ", shape_text(shape), " do not fit each other");
  const int32_t taps = shape[2] * shape[3];
  w = reshaped({transposed_groups, shape[0] / transposed_groups, shape[1], taps});
  w = turned({0, 2, 3, 1});
  return reshaped({transposed_groups * shape[1], shape[2], shape[3], shape[0] / transposed_groups});
}

// The bias, which a run may compute, too.
int32_t with_bias(OnnxOp& op, int32_t y) {
  if (!op.has_input(2)) return y;
  const int32_t channels = op.shape(y).back();
  int32_t bias = op.activation_or_numbers(2);
  if (elements(op.shape(bias)) != channels)
    fail("its bias has ", elements(op.shape(bias)), " values for ", channels, " channels");
  bias = op.draft().tensor(bias).constant
             ? add_constant_bytes(op.draft(), op.input_name(2), DType::kF32, {1, 1, 1, channels},
                                  op.draft().tensor(bias).data)
             : add_reshape(op.part("/bias"), bias, {1, 1, 1, channels});
  return add_binary(op, Op::kAdd, y, bias);
}

void import_computed_conv(OnnxOp& op) {
  const int32_t input = op.activation(0);
  const int32_t x = op.nhwc_or_line(input);
  const int32_t w = computed_weights(op, op.shape(input).size(), 0);
  const Shape shape = op.shape(w);
  const OnnxWindow window = read_onnx_window(op, op.shape(x), shape[1], shape[2]);
  op.set_nhwc_output(
      with_bias(op, add_computed_conv(op.origin(), x, w, read_groups(op), window.h, window.w)));
}

void import_conv(OnnxOp& op) {
  op.check_inputs(2, 3);
  if (!op.is_constant(1) && !op.is_volume(0)) return import_computed_conv(op);
  if (op.is_volume(0)) return import_volume_conv(op);
  import_onnx_convolution(op, op.activation(0), op.floats(1), true);
}

// The cut in front of an axis, and the length of its result.
std::pair<WindowAxis, int32_t> transposed_axis(OnnxOp& op, WindowAxis read, int32_t in, size_t i) {
  const auto extra = op.spatial("output_padding", 1, 0), wanted = op.spatial("output_shape", 1, 1);
  const std::string mode = op.string("auto_pad", "NOTSET");
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
  return {read, transposed_output(read, in, more)};
}

// The grid of the file's weights [c, oc / groups, ...] as one of output channels. One of input channels is that where each
// group has one alone.
void take_transposed_grid(const OnnxOp& op, int32_t groups, int32_t each, DraftTensor& weights) {
  const OnnxGrid* const grid = op.grid(1);
  if (grid == nullptr) return;
  if (grid->scales.size() == 1) {
    weights.scales = grid->scales;
    return;
  }
  const bool of_groups = grid->axis == 0;
  if (grid->scales.size() != static_cast<size_t>(of_groups ? groups : each) || grid->axis > 1)
    return take_near_grid(weights, 0);
  for (int32_t g = 0; g < groups; ++g)
    for (int32_t o = 0; o < each; ++o)
      weights.scales.push_back(grid->scales[static_cast<size_t>(of_groups ? g : o)]);
  weights.axis = 0;
}

// Transposed convolution of x [n, h, w, c] with weights [c, oc / groups, kh, kw]; the windows' sizes are in `conv`.
int32_t add_transposed(OnnxOp& op, int32_t x, const OnnxConstant<float>& w, const TransposedConv& conv) {
  const Shape shape = op.shape(x);
  if (conv.groups < 1 || w.shape[0] != shape[3] || shape[3] % conv.groups != 0)
    fail(conv.groups, " groups and weights ", shape_text(w.shape), " do not fit an input of ", shape[3],
         " channels");
  const int32_t each = w.shape[1], depth = shape[3] / conv.groups, channels = each * conv.groups;

  DraftTensor weights, source;
  set_values(source, w.values);
  weights.name = op.input_name(1);
  weights.constant = true;
  weights.shape = {channels, w.shape[2], w.shape[3], depth};
  weights.data =
      permuted_data(source.data, 4, {conv.groups, depth, each, w.shape[2] * w.shape[3]}, {0, 2, 3, 1});
  take_transposed_grid(op, conv.groups, each, weights);
  const DraftTensor bias = op.draft().tensor(add_bias(op, channels, true));
  const Shape out{shape[0], conv.out_h, conv.out_w, channels};
  check_shape(out, DType::kF32);
  const int32_t y = op.new_tensor(out);
  add_transposed_conv(op.origin(), x, weights, bias, y, conv);
  return y;
}

void import_volume_conv_transpose(OnnxOp& op) {
  const int32_t x = op.ndhwc(op.activation(0));
  const Shape shape = op.shape(x);
  const OnnxConstant<float> w = read_volume_weights(op);  // [c, oc / groups, kd, kh, kw]
  const int32_t c = shape[4], each = w.shape[1], kd = w.shape[2];
  TransposedConv conv;
  conv.groups = read_groups(op);
  if (conv.groups < 1 || w.shape[0] != c || c % conv.groups != 0)
    fail(conv.groups, " groups and weights ", shape_text(w.shape), " do not fit an input of ", c,
         " channels");
  const auto axes = read_onnx_windows(op, {shape[1], shape[2], shape[3]}, {kd, w.shape[3], w.shape[4]});
  const auto [depth, out] = transposed_axis(op, axes[0], shape[1], 0);
  std::tie(conv.h, conv.out_h) = transposed_axis(op, axes[1], shape[2], 1);
  std::tie(conv.w, conv.out_w) = transposed_axis(op, axes[2], shape[3], 2);
  const OnnxConstant<float> planes =
      joined_weights(w, {conv.groups, c / conv.groups, each, kd, w.shape[3] * w.shape[4]}, {0, 3, 1, 2, 4},
                     {narrow(int64_t{c} * kd, "channels"), each, w.shape[3], w.shape[4]});
  const int32_t pictures = add_stacked_slices(op.origin(), x, conv.groups, kd,
                                              transposed_window_slices(op.draft(), depth, shape[1], out));
  set_volume_output(op, add_transposed(op, pictures, planes, conv), shape[0]);
}

void import_conv_transpose(OnnxOp& op) {
  op.check_inputs(2, 3);
  if (op.is_volume(0)) return import_volume_conv_transpose(op);
  const int32_t input = op.activation(0), x = op.nhwc_or_line(input);
  const Shape shape = op.shape(x);
  TransposedConv conv;
  conv.groups = read_groups(op);
  const auto read_window = [&](int32_t kernel_h, int32_t kernel_w) {
    const OnnxWindow window = read_onnx_window(op, shape, kernel_h, kernel_w);
    std::tie(conv.h, conv.out_h) = transposed_axis(op, window.h, shape[1], 0);
    std::tie(conv.w, conv.out_w) = transposed_axis(op, window.w, shape[2], 1);
  };
  if (!op.is_constant(1)) {
    if (conv.groups < 1) fail(conv.groups, " groups are not supported");
    const int32_t w = computed_weights(op, op.shape(input).size(), conv.groups);
    const Shape of_weights = op.shape(w);
    read_window(of_weights[1], of_weights[2]);
    const int32_t y = add_computed_transposed_conv(op.origin(), x, w, conv);
    return op.set_nhwc_output(with_bias(op, y));
  }
  const OnnxConstant<float> w = as_planes(op, op.floats(1));
  read_window(w.shape[2], w.shape[3]);
  op.set_nhwc_output(add_transposed(op, x, w, conv));
}

// (x - mean) / sqrt(variance + epsilon) * gamma + beta, of x [..., channels].
int32_t add_batch_norm(OnnxOp& op, int32_t x) {
  const float epsilon = op.real("epsilon", 1e-5f);
  const Shape shape = op.shape(x);
  const int32_t channels = shape.back();
  std::vector<std::vector<float>> given;
  for (int i = 1; i < 5; ++i) given.push_back(channel_values(op, i, channels));
  for (size_t c = 0; c < given[3].size(); ++c)
    if (!(given[3][c] + epsilon > 0.0f))
      fail("variance ", given[3][c], " with epsilon ", epsilon, " in channel ", c,
           " has no square root above 0");
  if (op.is_constant(0)) {  // it is run at once, and no pass folds it
    Shape row(shape.size(), 1);
    row.back() = channels;
    for (size_t c = 0; c < given[0].size(); ++c) {
      given[0][c] /= std::sqrt(given[3][c] + epsilon);
      given[1][c] -= given[2][c] * given[0][c];
    }
    x = add_binary(op, Op::kMul, x, add_constant(op.draft(), op.input_name(1), DType::kF32, row, given[0]));
    return add_binary(op, Op::kAdd, x,
                      add_constant(op.draft(), op.input_name(2), DType::kF32, row, given[1]));
  }
  std::vector<int32_t> inputs{x};
  for (int i = 1; i < 5; ++i)
    inputs.push_back(add_constant(op.draft(), op.input_name(i), DType::kF32, {channels},
                                  given[static_cast<size_t>(i - 1)]));
  const int32_t y = op.new_tensor(shape);
  op.add(kBatchNorm, inputs, y).epsilon = epsilon;
  return y;
}

void import_batch_normalization(OnnxOp& op) {
  op.check_inputs(5, 5);
  if (op.integer("spatial", 1) != 1) fail("spatial=0 is not supported");
  op.ignore("momentum");
  op.ignore("is_test");
  if (op.integer("training_mode", 0) != 0) {  // as exporters write the standardization of weights
    if (op.shape(op.activation(0))[0] != 1)
      fail("it is in training mode over a batch; export the model for inference");
    return import_channel_normalization(op);
  }
  const int32_t input = op.activation(0);
  const size_t rank = op.shape(input).size();
  if (rank < 2 || rank > 5) fail("its input has rank ", rank, "; 2 to 5 are supported");
  const Shape whole = op.shape(input);
  const int32_t x = rank == 2   ? input
                    : rank == 5 ? op.nhwc(add_reshape(op.part("/slices"), input,
                                                      {whole[0], whole[1], whole[2] * whole[3], whole[4]}))
                                : op.nhwc_or_line(input);
  const int32_t y = add_batch_norm(op, x);
  if (rank == 2) return op.set_output(y);
  if (rank < 5) return op.set_nhwc_output(y);
  const int32_t planes = add_transpose(op.result(), y, kToNchw);
  op.set_output(add_reshape(op.result(), planes, whole));
}

constexpr OnnxOperator kOnnxConvOperators[] = {
    {"BatchNormalization",
     import_batch_normalization,
     {Op::kDepthwiseConv2d, Op::kNormalize},
     "Rank 2 to 5; by its own statistics only where the batch is 1. It goes into the weights before it where it can."},
    {"Conv",
     import_conv,
     {Op::kConv2d, Op::kDepthwiseConv2d, Op::kGather, Op::kPad},
     "One to three dimensions; of weights that a run computes, which become a product of two activations, one or two."},
    {"ConvTranspose",
     import_conv_transpose,
     {Op::kConv2d, Op::kDepthwiseConv2d, Op::kTranspose, Op::kStridedSlice},
     "As Conv. With constant weights it becomes a convolution whose channels are the phases of the stride."},
};

}  // namespace

void import_onnx_convolution(OnnxOp& op, int32_t input, OnnxConstant<float> weights, bool has_bias) {
  const int32_t x = op.nhwc_or_line(input);
  const OnnxConstant<float> w = as_planes(op, std::move(weights));
  const OnnxWindow window = read_onnx_window(op, op.shape(x), w.shape[2], w.shape[3]);
  op.set_nhwc_output(add_convolution(op, x, w, read_groups(op), window, has_bias));
}

Span<const OnnxOperator> onnx_conv_operators() { return kOnnxConvOperators; }

}  // namespace intaglio::importers
