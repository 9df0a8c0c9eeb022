#include "runtime/window.h"

namespace intaglio {
namespace {

constexpr int32_t kMaxWindow = 4096;

struct Axis {
  int32_t in, out;
  int32_t kernel, stride, dilation, pad_before, pad_after;
};

Error check_axis(const NodeView& node, const Axis& axis) {
  const auto [in, out, kernel, stride, dilation, pad_before, pad_after] = axis;
  if (kernel < 1 || kernel > kMaxWindow) return node.error(Status::kBadKernel, kernel, kMaxWindow);
  if (stride < 1 || stride > kMaxWindow) return node.error(Status::kBadStride, stride, kMaxWindow);
  if (dilation < 1 || dilation > kMaxWindow) return node.error(Status::kBadDilation, dilation, kMaxWindow);
  const int64_t extent = window_extent(kernel, dilation);
  // A pad of the whole window or more would make outputs that read nothing.
  for (const int32_t pad : {pad_before, pad_after})
    if (pad < 0 || pad >= extent) return node.error(Status::kBadPadding, pad, extent - 1);
  const int64_t room = int64_t{in} + pad_before + pad_after - extent;
  if (room < 0) return node.error(Status::kBadKernel, extent, int64_t{in} + pad_before + pad_after);
  const int32_t expected =
      static_cast<int32_t>(room) / stride + 1;  // fits: in is below 2^30, a window below 2^24
  if (expected != out) return node.output_error(Status::kShapeMismatch, 0, out, expected);
  return kNoError;
}

}  // namespace

Error check_window(const NodeView& node, int32_t in_h, int32_t in_w, int32_t out_h, int32_t out_w) {
  const Window2d& w = node.options<Window2d>();
  ITG_TRY(check_axis(node, {in_h, out_h, w.kernel_h, w.stride_h, w.dilation_h, w.pad_top, w.pad_bottom}));
  return check_axis(node, {in_w, out_w, w.kernel_w, w.stride_w, w.dilation_w, w.pad_left, w.pad_right});
}

}  // namespace intaglio
