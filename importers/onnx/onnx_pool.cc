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

void import_pool(OnnxOp& op, Op kind) {
  op.check_inputs(1, 1);
  const bool average = kind == Op::kAvgPool2d;
  const int32_t x = op.nhwc_or_line(average ? op.activation(0) : op.activation_or_codes(0));
  const Shape shape = op.draft().tensor(x).shape;
  const auto kernel = op.spatial("kernel_shape", 1, 1);
  if (kernel.empty()) fail("its kernel_shape is missing");
  OnnxWindow window =
      read_onnx_window(op, shape, narrow(kernel[0], "window size"), narrow(kernel[1], "window size"));
  const bool include = average && op.integer("count_include_pad", 0) != 0;
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
  op.set_nhwc_output(y);
}

void import_average_pool(OnnxOp& op) { import_pool(op, Op::kAvgPool2d); }
void import_max_pool(OnnxOp& op) { import_pool(op, Op::kMaxPool2d); }

constexpr OnnxOperator kOperators[] = {
    {"AveragePool",
     import_average_pool,
     {Op::kAvgPool2d},
     "Two dimensions, without dilation; ceil_mode not together with count_include_pad where it adds padding."},
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
