// TFLite convolutions over three dimensions, in FP32.
#include "importers/draft/conv_forms.h"
#include "importers/draft/quantized_tables.h"
#include "importers/tflite/tflite_operators.h"

namespace intaglio::importers {
namespace {

constexpr size_t kRank = 5;

Shape volume_shape(TfliteOp& op, int32_t x) {
  Shape shape = op.draft().tensor(x).shape;
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

int32_t put_slice(TfliteOp& op, DraftTensor tensor) {
  op.draft().tensors.push_back(std::move(tensor));
  return static_cast<int32_t>(op.draft().tensors.size()) - 1;
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
  const Shape shape = op.draft().tensor(y).shape;
  const int32_t whole = add_reshape(op.draft(), op.name() + "/volume", op.source(), y,
                                    {n, shape[0] / n, shape[1], shape[2], shape[3]});
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
  const int32_t slices = add_stacked_slices(op.draft(), op.name(), op.source(), x, 1, w[0],
                                            window_slices(op.draft(), depth, shape[1], out));
  const int32_t bias = put_slice(op, read_volume_bias(op, 2, channels)),
                kernel = put_slice(op, std::move(weights));
  const Shape planes{op.draft().tensor(slices).shape[0], window_output(height, shape[2]),
                     window_output(width, shape[3]), channels};
  check_shape(planes, DType::kF32);
  const int32_t y = add_activation(op.draft(), op.name() + "/planes", DType::kF32, planes);
  op.add(Op::kConv2d, {slices, kernel, bias}, y).options.as<Window2d>() = {
      height.kernel,   width.kernel,   height.stride, width.stride,
      height.dilation, width.dilation, height.before, width.before,
      height.after,    width.after,    false};
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
      add_stacked_slices(op.draft(), op.name(), op.source(), x, 1, w[0],
                         transposed_window_slices(op.draft(), depth, shape[1], static_cast<int32_t>(out[1])));
  const Shape planes{op.draft().tensor(slices).shape[0], conv.out_h, conv.out_w, channels};
  check_shape(planes, DType::kF32);
  const int32_t y = add_activation(op.draft(), op.name() + "/planes", DType::kF32, planes);
  add_transposed_conv(op.draft(), op.name(), op.source(), slices, std::move(weights),
                      read_volume_bias(op, 3, channels), y, conv);
  finish(op, y, shape[0], options.activation());
}

constexpr TfliteOperator kTfliteVolumeOperators[] = {
    {Builtin::CONV_3D,
     import_conv_3d,
     {Op::kConv2d, Op::kGather, Op::kPad, Op::kTranspose},
     "Weights and bias are constants. FP32."},
    {Builtin::CONV_3D_TRANSPOSE,
     import_conv_3d_transpose,
     {Op::kConv2d, Op::kGather, Op::kTranspose, Op::kStridedSlice},
     "Weights, bias and the result's shape are constants; without dilations. FP32."},
};

}  // namespace

Span<const TfliteOperator> tflite_volume_operators() { return kTfliteVolumeOperators; }

}  // namespace intaglio::importers
