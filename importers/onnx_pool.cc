// ONNX windows and means over height and width.
#include <algorithm>

#include "importers/onnx_handlers.h"

namespace intaglio::importers {
namespace {

// An attribute with one value an axis, or `otherwise` for both.
void read_pair(const OnnxOp& op, const char* name, int32_t otherwise, int32_t* h, int32_t* w) {
  const auto values = op.integers(name);
  if (!values.empty() && values.size() != 2)
    fail("attribute ", name, " has ", values.size(), " values; 2 are expected");
  *h = values.empty() ? otherwise : narrow(values[0], name);
  *w = values.empty() ? otherwise : narrow(values[1], name);
}

void import_pool(OnnxOp& op, Op kind) {
  op.check_inputs(1, 1);
  const int32_t x = op.nhwc(op.activation(0));
  const Shape shape = op.draft().tensor(x).shape;
  const auto kernel = op.integers("kernel_shape");
  if (kernel.size() != 2) fail("its kernel_shape has ", kernel.size(), " values; 2 are expected");
  OnnxWindow window =
      read_onnx_window(op, shape, narrow(kernel[0], "window size"), narrow(kernel[1], "window size"));
  const bool average = kind == Op::kAvgPool2d;
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
  const int32_t y = op.new_tensor(out);
  op.add(kind, {x}, y).window = {window.h.kernel,   window.w.kernel,   window.h.stride, window.w.stride,
                                 window.h.dilation, window.w.dilation, window.h.before, window.w.before,
                                 window.h.after,    window.w.after,    include};
  op.set_nhwc_output(y);
}

void add_mean(OnnxOp& op, int32_t x, const std::vector<int32_t>& axes, bool keep) {
  const Shape shape = op.draft().tensor(x).shape;
  Shape out;
  for (size_t i = 0; i < shape.size(); ++i) {
    const bool reduced = std::binary_search(axes.begin(), axes.end(), static_cast<int32_t>(i));
    if (!reduced) out.push_back(shape[i]);
    if (reduced && keep) out.push_back(1);
  }
  if (out.empty()) out.push_back(1);
  const int32_t y = op.new_tensor(out);
  op.add(Op::kMean, {x}, y).axes = axes;
  op.set_output(y);
}

}  // namespace

OnnxWindow read_onnx_window(OnnxOp& op, const Shape& nhwc, int32_t kernel_h, int32_t kernel_w) {
  OnnxWindow window;
  window.h.kernel = kernel_h;
  window.w.kernel = kernel_w;
  read_pair(op, "strides", 1, &window.h.stride, &window.w.stride);
  read_pair(op, "dilations", 1, &window.h.dilation, &window.w.dilation);
  const auto pads = op.integers("pads");  // top, left, bottom, right
  const std::string mode = op.string("auto_pad", "NOTSET");
  if (mode == "SAME_UPPER" || mode == "SAME_LOWER") {
    pad_same(window.h, nhwc[1], mode == "SAME_LOWER");
    pad_same(window.w, nhwc[2], mode == "SAME_LOWER");
  } else if (mode == "NOTSET" && !pads.empty()) {
    if (pads.size() != 4) fail("attribute pads has ", pads.size(), " values; 4 are expected");
    window.h.before = narrow(pads[0], "padding");
    window.w.before = narrow(pads[1], "padding");
    window.h.after = narrow(pads[2], "padding");
    window.w.after = narrow(pads[3], "padding");
  } else if (mode != "NOTSET" && mode != "VALID") {
    fail("auto_pad ", quoted(mode), " is not known");
  }
  return window;
}

void import_onnx_average_pool(OnnxOp& op) { import_pool(op, Op::kAvgPool2d); }
void import_onnx_max_pool(OnnxOp& op) { import_pool(op, Op::kMaxPool2d); }

void import_onnx_global_average_pool(OnnxOp& op) {
  op.check_inputs(1, 1);
  const int32_t x = op.activation(0);
  const Shape& shape = op.draft().tensor(x).shape;
  if (shape.size() != 4) fail("its input has the shape ", shape_text(shape), "; rank 4 is expected");
  add_mean(op, x, {2, 3}, true);
}

void import_onnx_reduce_mean(OnnxOp& op) {
  op.check_inputs(1, op.opset() >= 18 ? 2 : 1);
  const int32_t x = op.activation(0);
  const size_t rank = op.draft().tensor(x).shape.size();
  const bool keep = op.integer("keepdims", 1) != 0;
  std::vector<int64_t> axes = op.has_input(1) ? op.integers(1).values : op.integers("axes");
  if (axes.empty() && op.integer("noop_with_empty_axes", 0) != 0) return op.set_output(x);
  if (axes.empty())
    for (size_t i = 0; i < rank; ++i) axes.push_back(static_cast<int64_t>(i));
  op.ignore("noop_with_empty_axes");
  add_mean(op, x, normal_axes(axes, rank), keep);
}

}  // namespace intaglio::importers
