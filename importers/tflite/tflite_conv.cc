// TFLite operators with weights.
#include <algorithm>
#include <cmath>

#include "importers/draft/conv_forms.h"
#include "importers/draft/quantized_tables.h"
#include "importers/tflite/tflite_operators.h"

namespace intaglio::importers {
namespace {

// Weights and bias as they are after checking, in the draft.
struct Weighted {
  int32_t weights = -1, bias = -1;
};

// Whether the file's bias scale is the product that the arithmetic needs; converters round it a little.
bool about_equal(float a, float b) { return std::fabs(a - b) <= 0.01f * std::fabs(b); }

DraftTensor read_weights(TfliteOp& op, const DraftTensor& x, size_t rank) {
  if (!op.is_constant(1)) fail("its weights must be a constant");
  DraftTensor weights = op.constant(1);
  if (x.dtype == DType::kF32) weights = dequantized_on_grid(std::move(weights));  // hybrid, or of 16 bits
  if (weights.dtype != x.dtype) fail("its weights must be int8 or uint8, as its input is");
  if (weights.shape.size() != rank) fail("its weights have the shape ", shape_text(weights.shape));
  if (x.dtype == DType::kS8 && weights.scales.empty()) fail("its int8 weights have no scale");
  return weights;
}

// Codes of another scale than the arithmetic's, which is the product of the input's and the weights'.
void rescale_bias(TfliteOp& op, DraftTensor& bias, const std::vector<float>& products) {
  std::vector<int32_t> codes = values_of<int32_t>(bias);
  const auto each = [&](const std::vector<float>& scales, size_t c) {
    return double{scales[scales.size() == 1 ? 0 : c]};
  };
  double worst = 0.0;
  for (size_t c = 0; c < codes.size(); ++c) {
    const double real = codes[c] * each(bias.scales, c), product = each(products, c);
    const double code = std::nearbyint(real / product);
    if (!(std::fabs(code) <= 2147483647.0))
      fail("its bias ", real, " in channel ", c, " does not fit 32 bits with the scale ", product,
           ", which input and weights give");
    worst = std::max(worst, std::fabs(code * product - real));
    codes[c] = static_cast<int32_t>(code);
  }
  set_values(bias, codes);
  op.draft().notes.push_back(text("node ", quoted(op.name()),
                                  ": the bias has other scales than input times weights; it "
                                  "was converted, by at most ",
                                  worst, " from its values"));
}

DraftTensor read_bias(TfliteOp& op, const DraftTensor& x, const DraftTensor& weights, int32_t channels,
                      size_t i = 2) {
  DraftTensor bias;
  const bool is_float = x.dtype == DType::kF32;
  if (op.has_input(i)) {
    bias = op.constant(i);
    if (is_float) bias = dequantized(std::move(bias));
    if (bias.dtype != (is_float ? DType::kF32 : DType::kS32))
      fail("its bias must be ", is_float ? "float32" : "int32");
    if (elements(bias.shape) != channels)
      fail("its bias has ", elements(bias.shape), " values for ", channels, " output channels");
  } else {
    bias.name = op.name() + "/bias";
    bias.constant = true;
    bias.dtype = is_float ? DType::kF32 : DType::kS32;
    bias.data.assign(static_cast<size_t>(channels) * 4, 0);
  }
  bias.shape = {channels};
  if (is_float) return bias;
  std::vector<float> scales;
  for (const float s : weights.scales) scales.push_back(x.scales[0] * s);
  if (bias.scales.size() > 1 && static_cast<int64_t>(bias.scales.size()) != channels)
    fail("its bias has ", bias.scales.size(), " scales for ", channels, " output channels");
  bool is_product = true;
  for (size_t c = 0; c < static_cast<size_t>(channels) && !bias.scales.empty(); ++c)
    is_product &=
        about_equal(bias.scales[bias.scales.size() == 1 ? 0 : c], scales[scales.size() == 1 ? 0 : c]);
  if (!is_product) rescale_bias(op, bias, scales);
  bias.scales.clear();  // the product, always
  bias.axis = -1;
  bias.zero_point = 0;
  return bias;
}

// Weights whose zero point is not 0 are brought to 0.
void center(DraftTensor& weights) {
  if (weights.dtype != DType::kS8 || weights.zero_point == 0) return;
  std::vector<int32_t> codes;
  for (const int8_t code : values_of<int8_t>(weights)) codes.push_back(code - weights.zero_point);
  weights.zero_point = 0;
  set_weight_codes(weights, codes);
}

// Channels whose sums can leave 32 bits, as behind an input that is nearly nothing and makes biases great, get a coarser scale
// of their weights, until they cannot.
void fit_sums(TfliteOp& op, DraftTensor& weights, DraftTensor& bias, int32_t axis) {
  if (weights.dtype == DType::kF32) return;
  const size_t behind = elements_behind(weights.shape, axis);
  const auto channels = static_cast<size_t>(weights.shape[static_cast<size_t>(axis)]);
  std::vector<int32_t> codes = weight_codes(weights);
  std::vector<int32_t> biases = values_of<int32_t>(bias);
  std::vector<double> sizes(channels, 0.0);
  for (size_t i = 0; i < codes.size(); ++i) sizes[i / behind % channels] += std::abs(codes[i]);
  std::vector<double> factors(channels, 1.0);
  int32_t changed = 0;
  for (size_t c = 0; c < channels; ++c) {
    constexpr double kMost = 2147483647.0,
                     kWidest = 255.0;  // an input less its zero point is at most the latter
    while (factors[c] > 0x1p-8 &&
           factors[c] * (std::fabs(static_cast<double>(biases[c])) + kWidest * sizes[c]) > kMost)
      factors[c] /= 2;
    changed += factors[c] < 1.0;
  }
  if (changed == 0) return;
  if (weights.scales.size() == 1) weights.scales.assign(channels, weights.scales[0]);
  weights.axis = channels > 1 ? axis : -1;
  for (size_t i = 0; i < codes.size(); ++i)
    codes[i] = static_cast<int32_t>(std::nearbyint(codes[i] * factors[i / behind % channels]));
  for (size_t c = 0; c < channels; ++c) {
    weights.scales[c] = static_cast<float>(weights.scales[c] / factors[c]);
    biases[c] = static_cast<int32_t>(std::nearbyint(biases[c] * factors[c]));
  }
  set_weight_codes(weights, codes);
  set_values(bias, biases);
  op.draft().notes.push_back(
      text("node ", quoted(op.name()), ": the sums of ", changed, " of ", channels,
           " channels can leave 32 bits; their weights got a coarser scale of their own"));
}

void require_axis(const DraftTensor& weights, int32_t axis) {
  if (weights.axis >= 0 && weights.axis != axis)
    fail("its weights have their scales along axis ", weights.axis, "; axis ", axis, " is expected");
}

struct Windowed {
  Window2d window;
  int32_t out_h = 0, out_w = 0;
};

template <typename Options>
Windowed window_of(const Options& options, const Shape& x, int32_t kernel_h, int32_t kernel_w) {
  WindowAxis h{kernel_h, options.stride_h(), options.dilation_h()};
  WindowAxis w{kernel_w, options.stride_w(), options.dilation_w()};
  if (options.padding() == tflite::Padding::Same) {
    pad_same(h, x[1], false);
    pad_same(w, x[2], false);
  } else if (options.padding() != tflite::Padding::Valid) {
    fail("padding mode ", static_cast<int>(options.padding()), " is not known");
  }
  Windowed result;
  result.out_h = window_output(h, x[1]);
  result.out_w = window_output(w, x[2]);
  result.window = window_of(h, w);
  return result;
}

// A convolution whose operands have been read.
struct Convolution {
  Op op = Op::kNone;
  int32_t x = -1;
  Weighted weighted;
  Windowed windowed;
  int32_t groups = 1, channels = 0;
  tflite::Activation activation{};
};

void add_convolution(TfliteOp& op, const Convolution& conv) {
  const Windowed& windowed = conv.windowed;
  const int32_t y = op.output({op.shape(conv.x)[0], windowed.out_h, windowed.out_w, conv.channels});
  if (op.draft().tensor(y).dtype != op.draft().tensor(conv.x).dtype)
    fail("its output has another element type than its input");
  DraftNode& node = op.add(conv.op, {conv.x, conv.weighted.weights, conv.weighted.bias}, y);
  node.options.as<Window2d>() = windowed.window;
  if (conv.op == Op::kConv2d) node.options.as<Conv2dOptions>().groups = conv.groups;
  set_activation(node, conv.activation, op.draft().tensor(y));
}

// The same of weights that a run computes, in FP32: [oc, kh, kw, c], of depthwise ones [1, kh, kw, oc].
template <typename Options>
void import_computed_conv(TfliteOp& op, bool is_depthwise) {
  const auto& options = op.options<Options>();
  const int32_t x = read_real(op, 0);
  int32_t weights = read_real(op, 1);
  const Shape shape = op.shape(x), w = op.shape(weights);
  if (shape.size() != 4 || w.size() != 4 || (is_depthwise && w[0] != 1))
    fail("its input and its weights have the shapes ", shape_text(shape), " and ", shape_text(w));
  const Windowed windowed = window_of(options, shape, w[1], w[2]);
  const Window2d& window = windowed.window;
  if (is_depthwise) weights = add_transpose(op.part("/weights"), weights, {3, 1, 2, 0});
  const int32_t groups = is_depthwise ? shape[3] : shape[3] / w[3];
  int32_t y =
      add_computed_conv(op.part("/sum"), x, weights, groups,
                        {w[1], window.stride_h, window.dilation_h, window.pad_top, window.pad_bottom},
                        {w[2], window.stride_w, window.dilation_w, window.pad_left, window.pad_right});
  if (op.has_input(2)) y = add_binary(op, Op::kAdd, y, read_real_bias(op, 2));
  finish_real(op, add_real_activation(op, y, options.activation()));
}

void import_conv_2d(TfliteOp& op) {
  op.check_inputs(2, 3);
  if (!op.is_constant(1)) return import_computed_conv<tflite::Conv2DOptions>(op, false);
  const int32_t x = op.activation(0);
  const auto& options = op.options<tflite::Conv2DOptions>();
  const DraftTensor info = op.draft().tensor(x);
  check_rank(info.shape, 4);
  DraftTensor weights = read_weights(op, info, 4);  // [oc, kh, kw, ic / groups], as ours
  require_axis(weights, 0);
  const int32_t channels = weights.shape[0], inputs = info.shape[3], group_inputs = weights.shape[3];
  const int32_t groups = inputs / group_inputs;
  if (inputs % group_inputs != 0 || channels % groups != 0)
    fail("weights ", shape_text(weights.shape), " do not fit an input of ", inputs, " channels");
  const Windowed windowed = window_of(options, info.shape, weights.shape[1], weights.shape[2]);
  DraftTensor b = read_bias(op, info, weights, channels);
  center(weights);
  fit_sums(op, weights, b, 0);
  const int32_t bias = op.draft().put(std::move(b));
  const Weighted weighted{op.draft().put(std::move(weights)), bias};
  add_convolution(op, {Op::kConv2d, x, weighted, windowed, groups, channels, options.activation()});
}

void import_depthwise_conv_2d(TfliteOp& op) {
  op.check_inputs(2, 3);
  if (!op.is_constant(1)) return import_computed_conv<tflite::DepthwiseConv2DOptions>(op, true);
  const int32_t x = op.activation(0);
  const auto& options = op.options<tflite::DepthwiseConv2DOptions>();
  const DraftTensor info = op.draft().tensor(x);
  check_rank(info.shape, 4);
  DraftTensor weights = read_weights(op, info, 4);  // [1, kh, kw, c * multiplier]
  require_axis(weights, 3);
  const int32_t channels = weights.shape[3], inputs = info.shape[3];
  if (weights.shape[0] != 1 || channels % inputs != 0)
    fail("weights ", shape_text(weights.shape), " do not fit an input of ", inputs, " channels");
  if (options.depth_multiplier() != 0 && options.depth_multiplier() != channels / inputs)
    fail("depth multiplier ", options.depth_multiplier(), " does not fit ", channels, " channels from ",
         inputs);
  const Windowed windowed = window_of(options, info.shape, weights.shape[1], weights.shape[2]);
  DraftTensor b = read_bias(op, info, weights, channels);
  center(weights);
  fit_sums(op, weights, b, 3);
  const int32_t bias = op.draft().put(std::move(b));
  weights.shape.erase(weights.shape.begin());
  if (weights.axis >= 0) weights.axis = 2;
  const Weighted weighted{op.draft().put(std::move(weights)), bias};
  add_convolution(op, {Op::kDepthwiseConv2d, x, weighted, windowed, 1, channels, options.activation()});
}

// x [n, h, w, ic] by weights [oc, kh, kw, ic] to [n, out[1], out[2], oc].
void add_transposed(TfliteOp& op, int32_t x, DraftTensor weights, size_t bias_input, tflite::Padding padding,
                    int32_t stride_h, int32_t stride_w, const std::vector<int64_t>& out,
                    tflite::Activation activation) {
  const DraftTensor info = op.draft().tensor(x);
  const int32_t channels = weights.shape[0];
  TransposedConv conv;
  conv.h = tflite_transposed_axis(padding, weights.shape[1], stride_h, info.shape[1], out[1]);
  conv.w = tflite_transposed_axis(padding, weights.shape[2], stride_w, info.shape[2], out[2]);
  conv.out_h = static_cast<int32_t>(out[1]);
  conv.out_w = static_cast<int32_t>(out[2]);
  DraftTensor bias = read_bias(op, info, weights, channels, bias_input);
  center(weights);
  fit_sums(op, weights, bias, 0);
  const int32_t y = op.output_of_type(x, {info.shape[0], conv.out_h, conv.out_w, channels});
  DraftNode& node = add_transposed_conv(op.origin(), x, std::move(weights), std::move(bias), y, conv);
  set_activation(node, activation, op.draft().tensor(y));
}

void import_transpose_conv(TfliteOp& op) {
  op.check_inputs(3, 4);  // shape of the result, weights, x, bias
  const int32_t x = op.activation(2);
  const auto& options = op.options<tflite::TransposeConvOptions>();
  const DraftTensor info = op.draft().tensor(x);
  check_rank(info.shape, 4);
  DraftTensor weights = read_weights(op, info, 4);  // [oc, kh, kw, ic]
  require_axis(weights, 0);
  if (weights.shape[3] != info.shape[3])
    fail("weights ", shape_text(weights.shape), " do not fit an input of ", info.shape[3], " channels");
  const int32_t channels = weights.shape[0];
  const Shape wanted = op.is_constant(0) ? Shape() : op.output_shape_in_file();
  std::vector<int64_t> out(wanted.begin(), wanted.end());
  if (wanted.empty()) out = op.integers(0);
  if (out.size() != 4 || out[3] != channels)
    fail("its output shape does not fit weights ", shape_text(weights.shape));

  add_transposed(op, x, std::move(weights), 3, options.padding(), options.stride_h(), options.stride_w(), out,
                 options.activation());
}

void import_fully_connected(TfliteOp& op) {
  op.check_inputs(2, 3);
  if (op.is_constant(0) || !op.is_constant(1) || (op.has_input(2) && !op.is_constant(2)))
    return import_computed_layer(op);
  const int32_t x = op.activation(0);
  const auto& options = op.options<tflite::FullyConnectedOptions>();
  const DraftTensor info = op.draft().tensor(x);
  DraftTensor weights = read_weights(op, info, 2);  // [oc, k]
  require_axis(weights, 0);
  if (options.weights_format() != 0) fail("shuffled weights are not supported");
  const int32_t channels = weights.shape[0], k = weights.shape[1];
  const int64_t count = elements(info.shape);
  if (count % k != 0) fail("an input of ", count, " elements does not fit weights of ", k, " columns");
  const auto rows = static_cast<int32_t>(count / k);
  Shape wanted{rows, channels};
  if (options.keep_num_dims()) {
    if (info.shape.back() != k)
      fail("the input's last dimension is ", info.shape.back(), " where ", k, " is expected");
    wanted = info.shape;
    wanted.back() = channels;
  }
  DraftTensor b = read_bias(op, info, weights, channels);
  center(weights);
  fit_sums(op, weights, b, 0);
  const int32_t bias = op.draft().put(std::move(b));
  const int32_t w = op.draft().put(std::move(weights));
  const int32_t flat = add_reshape(op.part("/flat"), x, {rows, k});
  const int32_t y = op.output_of_type(x, wanted);
  const bool reshaped = wanted.size() != 2;
  const int32_t result = reshaped ? add_activation_like(op.draft(), op.name(), y, {rows, channels}) : y;
  set_activation(op.add(Op::kFullyConnected, {flat, w, bias}, result), options.activation(),
                 op.draft().tensor(y));
  if (reshaped) op.add(Op::kReshape, {result}, y);
}

constexpr char kOfConv[] = "Weights that a run computes become a product of two activations, in FP32.";

}  // namespace

// Its options are the padding (1: SAME, 2: VALID) and the strides along width and height, as int32.
void import_transpose_conv_bias(TfliteOp& op) {
  op.check_inputs(3, 3);  // x, weights, bias
  const int32_t x = op.activation(0);
  const DraftTensor info = op.draft().tensor(x);
  check_rank(info.shape, 4);
  const Span<const uint8_t> bytes = op.custom_options();
  int32_t options[3] = {};
  if (bytes.size < sizeof options) fail("its options are missing");
  std::memcpy(options, bytes.data, sizeof options);
  const bool same = options[0] == 1;
  if (!same && options[0] != 2) fail("its padding ", options[0], " is not known");
  DraftTensor weights = read_weights(op, info, 4);  // [oc, kh, kw, ic]
  require_axis(weights, 0);
  if (weights.shape[3] != info.shape[3])
    fail("weights ", shape_text(weights.shape), " do not fit an input of ", info.shape[3], " channels");
  const auto size = [&](int32_t in, int32_t kernel, int32_t stride) {
    check_window_axis({kernel, stride});
    return int64_t{in} * stride + (same ? 0 : std::max(kernel - stride, 0));
  };
  const std::vector<int64_t> out{info.shape[0], size(info.shape[1], weights.shape[1], options[2]),
                                 size(info.shape[2], weights.shape[2], options[1]), weights.shape[0]};
  add_transposed(op, x, std::move(weights), 2, same ? tflite::Padding::Same : tflite::Padding::Valid,
                 options[2], options[1], out, tflite::Activation::None);
}

WindowAxis tflite_transposed_axis(tflite::Padding padding, int32_t kernel, int32_t stride, int32_t in,
                                  int64_t size) {
  WindowAxis window{kernel, stride};
  if (padding == tflite::Padding::Same) pad_same(window, narrow(size, "output size"), false);
  const int64_t whole = transposed_output({kernel, stride}, in, 0);
  if (size < 1 || size > whole + stride || window_output(window, narrow(size, "output size")) != in)
    fail("an output of ", size, " elements does not fit an input of ", in, " with stride ", stride);
  return window;
}

// Convolutions over three dimensions, in FP32.

namespace {

constexpr size_t kRank = 5;

Shape volume_shape(TfliteOp& op, int32_t x) {
  Shape shape = op.shape(x);
  if (shape.size() != kRank) fail("its input has the shape ", shape_text(shape), "; rank 5 is expected");
  return shape;
}

// Reals of rank 5; codes have their grid.
DraftTensor read_volume_weights(TfliteOp& op) {
  if (!op.is_constant(1)) fail("its weights must be a constant");
  DraftTensor weights = dequantized_on_grid(op.constant(1));
  if (weights.dtype != DType::kF32 || weights.shape.size() != kRank)
    fail("its weights have the shape ", shape_text(weights.shape), "; reals of rank 5 are expected");
  return weights;
}

// The axes [first, pixels, second, third] of weights in another order, as of rank 4; `axis`: the channels' before and then.
void reorder(DraftTensor& weights, const Shape& as, const Permutation& order, const Shape& to, int32_t axis) {
  weights.data = permuted_data(weights.data, sizeof(float), as, order);
  weights.shape = to;
  if (weights.scales.size() > 1 && weights.axis != axis) weights.scales.clear();
  weights.axis = weights.scales.size() > 1 ? 0 : -1;
}

DraftTensor read_volume_bias(TfliteOp& op, size_t i, int32_t channels) {
  DraftTensor bias;
  bias.name = op.name() + "/bias";
  bias.constant = true;
  bias.data.assign(static_cast<size_t>(channels) * sizeof(float), 0);
  if (op.has_input(i)) bias = dequantized(op.constant(i));
  if (bias.dtype != DType::kF32 || (op.has_input(i) && elements(bias.shape) != channels))
    fail("its bias has the shape ", shape_text(bias.shape), "; ", channels, " reals are expected");
  bias.scales.clear();
  bias.axis = -1;
  bias.shape = {channels};
  return bias;
}

WindowAxis read_axis(const tflite::Conv3DOptions& options, int32_t kernel, int32_t stride, int32_t dilation,
                     int32_t in) {
  WindowAxis axis{kernel, stride, dilation};
  if (options.padding() == tflite::Padding::Same)
    pad_same(axis, in, false);
  else if (options.padding() != tflite::Padding::Valid)
    fail("padding mode ", static_cast<int>(options.padding()), " is not known");
  return axis;
}

// y [n * depth, h, w, c] is the result, behind its activation.
void finish(TfliteOp& op, int32_t y, int32_t n, tflite::Activation activation) {
  const Shape shape = op.shape(y);
  const int32_t whole = add_reshape(op.part("/volume"), y, {n, shape[0] / n, shape[1], shape[2], shape[3]});
  finish_real(op, add_real_activation(op, whole, activation));
}

// Weights [kd, kh, kw, c, oc].
void import_conv_3d(TfliteOp& op) {
  op.check_inputs(2, 3);
  const auto& options = op.options<tflite::Conv3DOptions>();
  const int32_t x = read_real(op, 0);
  const Shape shape = volume_shape(op, x);
  DraftTensor weights = read_volume_weights(op);
  const Shape w = weights.shape;
  if (w[3] != shape[4]) fail("weights ", shape_text(w), " do not fit an input of ", shape[4], " channels");
  const WindowAxis depth = read_axis(options, w[0], options.stride_d(), options.dilation_d(), shape[1]),
                   height = read_axis(options, w[1], options.stride_h(), options.dilation_h(), shape[2]),
                   width = read_axis(options, w[2], options.stride_w(), options.dilation_w(), shape[3]);
  const int32_t out = window_output(depth, shape[1]), channels = w[4];
  reorder(weights, {w[0], w[1] * w[2], w[3], channels}, {3, 1, 0, 2},
          {channels, w[1], w[2], narrow(int64_t{w[0]} * w[3], "number of channels")}, 4);
  const int32_t slices =
      add_stacked_slices(op.origin(), x, 1, w[0], window_slices(op.draft(), depth, shape[1], out));
  const int32_t bias = op.draft().put(read_volume_bias(op, 2, channels)),
                kernel = op.draft().put(std::move(weights));
  const Shape planes{op.shape(slices)[0], window_output(height, shape[2]), window_output(width, shape[3]),
                     channels};
  check_shape(planes, DType::kF32);
  const int32_t y = op.new_tensor(planes, "/planes");
  op.add(Op::kConv2d, {slices, kernel, bias}, y).options.as<Window2d>() = window_of(height, width);
  finish(op, y, shape[0], options.activation());
}

// Inputs: the result's shape, weights [kd, kh, kw, oc, c], x, bias.
void import_conv_3d_transpose(TfliteOp& op) {
  op.check_inputs(3, 4);
  const auto& options = op.options<tflite::Conv3DOptions>();
  if (options.dilation_d() != 1 || options.dilation_h() != 1 || options.dilation_w() != 1)
    fail("it has dilations, which are not supported");
  const int32_t x = read_real(op, 2);
  const Shape shape = volume_shape(op, x);
  DraftTensor weights = read_volume_weights(op);
  const Shape w = weights.shape;
  if (w[4] != shape[4]) fail("weights ", shape_text(w), " do not fit an input of ", shape[4], " channels");
  const int32_t channels = w[3];
  const std::vector<int64_t> out = op.integers(0);
  if (out.size() != kRank || out[0] != shape[0] || out[4] != channels)
    fail("its output shape does not fit its input ", shape_text(shape), " and weights ", shape_text(w));
  const auto axis = [&](size_t i, int32_t stride) {
    return tflite_transposed_axis(options.padding(), w[i - 1], stride, shape[i], out[i]);
  };
  const WindowAxis depth = axis(1, options.stride_d());
  TransposedConv conv;
  conv.h = axis(2, options.stride_h());
  conv.w = axis(3, options.stride_w());
  conv.out_h = static_cast<int32_t>(out[2]);
  conv.out_w = static_cast<int32_t>(out[3]);
  reorder(weights, {w[0], w[1] * w[2], channels, w[4]}, {2, 1, 0, 3},
          {channels, w[1], w[2], narrow(int64_t{w[0]} * w[4], "number of channels")}, 3);
  const int32_t slices =
      add_stacked_slices(op.origin(), x, 1, w[0],
                         transposed_window_slices(op.draft(), depth, shape[1], static_cast<int32_t>(out[1])));
  const Shape planes{op.shape(slices)[0], conv.out_h, conv.out_w, channels};
  check_shape(planes, DType::kF32);
  const int32_t y = op.new_tensor(planes, "/planes");
  add_transposed_conv(op.origin(), slices, std::move(weights), read_volume_bias(op, 3, channels), y, conv);
  finish(op, y, shape[0], options.activation());
}

constexpr TfliteOperator kTfliteConvOperators[] = {
    {Builtin::CONV_2D, import_conv_2d, {Op::kConv2d, Op::kGather, Op::kBatchMatMul}, kOfConv},
    {Builtin::CONV_3D,
     import_conv_3d,
     {Op::kConv2d, Op::kGather, Op::kPad, Op::kTranspose},
     "Weights and bias are constants. FP32."},
    {Builtin::CONV_3D_TRANSPOSE,
     import_conv_3d_transpose,
     {Op::kConv2d, Op::kGather, Op::kTranspose, Op::kStridedSlice},
     "Weights, bias and the result's shape are constants; without dilations. FP32."},
    {Builtin::DEPTHWISE_CONV_2D,
     import_depthwise_conv_2d,
     {Op::kDepthwiseConv2d, Op::kGather, Op::kBatchMatMul},
     kOfConv},
    {Builtin::FULLY_CONNECTED,
     import_fully_connected,
     {Op::kFullyConnected, Op::kBatchMatMul, Op::kAdd},
     "Weights are not shuffled."},
    {Builtin::TRANSPOSE_CONV,
     import_transpose_conv,
     {Op::kConv2d, Op::kTranspose, Op::kStridedSlice},
     "Weights and bias are constants. It becomes a convolution whose channels are the phases of the stride."},
};

}  // namespace

Span<const TfliteOperator> tflite_conv_operators() { return kTfliteConvOperators; }

}  // namespace intaglio::importers
