// ONNX windows over height and width.
#include "importers/onnx/onnx_operators.h"

namespace intaglio::importers {
namespace {

// An attribute with one value an axis, or 1 for both.
void read_pair(const OnnxOp& op, const char* name, int32_t* h, int32_t* w) {
  const auto values = op.spatial(name, 1, 1);
  *h = values.empty() ? 1 : narrow(values[0], name);
  *w = values.empty() ? 1 : narrow(values[1], name);
}

// The pool of an input of the file's layout, in NHWC; `include`: padding counts as zeros.
int32_t add_pool(OnnxOp& op, Op kind, int32_t input, bool include) {
  const bool average = kind == Op::kAvgPool2d;
  const int32_t x = op.nhwc_or_line(input);
  const Shape shape = op.draft().tensor(x).shape;
  const auto kernel = op.spatial("kernel_shape", 1, 1);
  if (kernel.empty()) fail("its kernel_shape is missing");
  OnnxWindow window =
      read_onnx_window(op, shape, narrow(kernel[0], "window size"), narrow(kernel[1], "window size"));
  if (average && (window.h.dilation != 1 || window.w.dilation != 1)) fail("dilation is not supported");
  if (!average) op.ignore("storage_order");  // of indices, which are not made
  if (op.integer("ceil_mode", 0) != 0) {
    const OnnxWindow exact = window;
    pad_ceil(window.h, shape[1]);
    pad_ceil(window.w, shape[2]);
    const bool more = window.h.after != exact.h.after || window.w.after != exact.w.after;
    if (include && more) fail("ceil_mode with count_include_pad is not supported");
  }
  const Shape out{shape[0], window_output(window.h, shape[1]), window_output(window.w, shape[2]), shape[3]};
  const int32_t y = op.new_tensor_like(x, out);
  op.add(kind, {x}, y).options.as<Window2d>() = {
      window.h.kernel,   window.w.kernel,   window.h.stride, window.w.stride,
      window.h.dilation, window.w.dilation, window.h.before, window.w.before,
      window.h.after,    window.w.after,    include};
  return y;
}

void import_average_pool(OnnxOp& op) {
  op.check_inputs(1, 1);
  const bool include = op.integer("count_include_pad", 0) != 0;
  op.set_nhwc_output(add_pool(op, Op::kAvgPool2d, op.activation(0), include));
}

void import_max_pool(OnnxOp& op) {
  op.check_inputs(1, 1);
  op.set_nhwc_output(add_pool(op, Op::kMaxPool2d, op.activation_or_codes(0), false));
}

// (sum of |x|^p)^(1/p) of each window: padding counts as zeros, and the mean times the window's size is the sum.
void import_lp_pool(OnnxOp& op) {
  op.check_inputs(1, 1);
  const auto p = static_cast<float>(op.integer("p", 2));
  if (p < 1.0f) fail("p ", p, " is not allowed");
  int64_t taps = 1;
  for (const int64_t side : op.integers("kernel_shape")) {
    if (side < 1 || side > kMaxTensorBytes / taps) fail("its window has the size ", side);
    taps *= side;
  }
  const int32_t mean = add_pool(op, Op::kAvgPool2d, add_magnitude_power(op, op.activation(0), p), true);
  op.set_nhwc_output(add_root(op, add_scaled(op, mean, static_cast<float>(taps)), p));
}

// x * (bias + alpha / size * sum of x^2)^-beta, the sum over `size` channels around each: the mean over a window of a picture
// whose columns are the channels.
void import_lrn(OnnxOp& op) {
  op.check_inputs(1, 1);
  const float alpha = op.real("alpha", 1e-4f), beta = op.real("beta", 0.75f), bias = op.real("bias", 1.0f);
  const int32_t size = narrow(op.integer("size", 0), "size");
  if (size < 1) fail("its size is ", size);
  const int32_t x = op.nhwc(op.activation(0));
  const Shape shape = op.draft().tensor(x).shape;
  const int32_t rows = static_cast<int32_t>(elements(shape) / shape[3]);
  const WindowAxis across{size, 1, 1, (size - 1) / 2, size / 2};
  const WindowAxis along;
  const int32_t squares =
      add_reshape(op.draft(), op.name() + "/squares", op.source(), add_square(op, x), {1, rows, shape[3], 1});
  const int32_t mean = op.new_tensor({1, rows, window_output(across, shape[3]), 1});
  op.add(Op::kAvgPool2d, {squares}, mean).options.as<Window2d>() = {
      along.kernel, across.kernel, 1, 1, 1, 1, 0, across.before, 0, across.after, true};
  const int32_t scaled =
      add_scaled(op, add_reshape(op.draft(), op.name() + "/means", op.source(), mean, shape), alpha);
  const int32_t one =
      add_constant(op.draft(), op.name() + "/bias", DType::kF32, {1, 1, 1, 1}, std::vector<float>{bias});
  const int32_t factor = add_power(op, add_binary(op, Op::kAdd, scaled, one), -beta);
  op.set_nhwc_output(add_binary(op, Op::kMul, x, factor));
}

constexpr OnnxOperator kOperators[] = {
    {"AveragePool",
     import_average_pool,
     {Op::kAvgPool2d},
     "Two dimensions, without dilation; ceil_mode not together with count_include_pad where it adds padding."},
    {"LRN", import_lrn, {Op::kMul, Op::kAvgPool2d, Op::kAdd, Op::kPow}, "Rank 4."},
    {"LpPool",
     import_lp_pool,
     {Op::kPow, Op::kAvgPool2d, Op::kMul},
     "One or two dimensions, without dilation."},
    {"MaxPool", import_max_pool, {Op::kMaxPool2d}, "Two dimensions, without the output of indices."},
};

}  // namespace

OnnxWindow read_onnx_window(OnnxOp& op, const Shape& nhwc, int32_t kernel_h, int32_t kernel_w) {
  OnnxWindow window;
  window.h.kernel = kernel_h;
  window.w.kernel = kernel_w;
  read_pair(op, "strides", &window.h.stride, &window.w.stride);
  read_pair(op, "dilations", &window.h.dilation, &window.w.dilation);
  const auto pads = op.spatial("pads", 2, 0);  // top, left, bottom, right
  const std::string mode = op.string("auto_pad", "NOTSET");
  if (mode == "SAME_UPPER" || mode == "SAME_LOWER") {
    pad_same(window.h, nhwc[1], mode == "SAME_LOWER");
    pad_same(window.w, nhwc[2], mode == "SAME_LOWER");
  } else if (mode == "NOTSET" && !pads.empty()) {
    window.h.before = narrow(pads[0], "padding");
    window.w.before = narrow(pads[1], "padding");
    window.h.after = narrow(pads[2], "padding");
    window.w.after = narrow(pads[3], "padding");
  } else if (mode != "NOTSET" && mode != "VALID") {
    fail("auto_pad ", quoted(mode), " is not known");
  }
  return window;
}

Span<const OnnxOperator> onnx_pool_operators() { return kOperators; }

}  // namespace intaglio::importers
