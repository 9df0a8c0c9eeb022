#include "runtime/streaming/row_access.h"

#include "runtime/resize_coordinates.h"
#include "runtime/window.h"

#if ITG_STREAMING

namespace intaglio {

bool is_picture(const TensorInfo& tensor) {
  return tensor.shape.rank == 4 && tensor.shape[0] == 1 && tensor.shape[1] <= kMaxRows;
}

namespace {

bool is_plain_int8(const NodeView& node) {
  return node.output_count() == 1 && node.input_count() <= kMaxBandInputs && node.has_input(0) &&
         is_picture(node.output()) && node.output().dtype == DType::kS8;
}

// A window that its operator's plan would refuse has no rows either: a walk's clock may rely on its shapes.
RowAccess window_access(const NodeView& node, const Window2d& w) {
  if (!is_plain_int8(node) || !is_picture(node.input(0)) ||
      window_extent(w.kernel_h, w.dilation_h) > kMaxRowExtent)
    return {};
  const Shape in = node.input(0).shape, out = node.output().shape;
  return check_window(node, in[1], in[2], out[1], out[2]).ok() ? known_row_access(node, false) : RowAccess();
}

RowAccess reduce_access(const NodeView& node) {
  if (node.input_count() != 1 || node.output_count() != 1 || !node.has_input(0)) return {};
  const TensorInfo in = node.input(0), out = node.output();
  const bool good = is_picture(in) && in.dtype == DType::kS8 && out.shape.elements() == in.shape[3] &&
                    (out.dtype == DType::kS8 || out.dtype == DType::kF32);
  return good ? known_row_access(node, true) : RowAccess();
}

RowAccess average_access(const NodeView& node) {
  const Window2d& w = node.options<Window2d>();
  const Shape in = node.input(0).shape;
  const bool whole = in.rank == 4 && w.kernel_h == in[1] && w.kernel_w == in[2] && w.dilation_h == 1 &&
                     w.dilation_w == 1 && w.pad_top == 0 && w.pad_left == 0 && w.pad_bottom == 0 &&
                     w.pad_right == 0;
  if (whole && in[1] > 1) return reduce_access(node);
  return window_access(node, w);
}

RowAccess mean_access(const NodeView& node) {
  const Span<const int32_t> axes = node.options<ReduceOptions>().axes;
  return axes.size == 2 && axes[0] == 1 && axes[1] == 2 ? reduce_access(node) : RowAccess();
}

bool is_elementwise(Op op) {
  switch (op) {
    case Op::kAdd:
    case Op::kSub:
    case Op::kMul:
    case Op::kDiv:
    case Op::kMaximum:
    case Op::kMinimum:
      return true;
    default:
      return false;
  }
}

// Operands that are repeated along the rows are read whole; a constant that is not repeated would have to be cut.
RowAccess elementwise_access(const NodeView& node) {
  if (!is_plain_int8(node)) return {};
  for (int32_t i = 0; i < node.input_count(); ++i) {
    if (!node.has_input(i)) return {};
    const TensorInfo info = node.input(i);
    const bool has_rows = info.shape.rank >= 3 && info.shape.back(2) != 1;
    if (has_rows && (info.is_constant() || !is_picture(info))) return {};
  }
  return kRowByRow;
}

RowAccess concat_access(const NodeView& node) {
  if (!is_plain_int8(node) || node.options<ConcatOptions>().axis < 2) return {};
  for (int32_t i = 0; i < node.input_count(); ++i)
    if (!node.has_input(i) || !is_picture(node.input(i)) || node.input(i).is_constant()) return {};
  return kRowByRow;
}

RowAccess pad_access(const NodeView& node) {
  const Span<const int32_t> before = node.options<PadOptions>().before;
  if (!is_plain_int8(node) || !is_picture(node.input(0)) || before.size != 4 || before[1] < 0 ||
      before[1] > kMaxRowExtent)
    return {};
  return known_row_access(node, false);
}

RowAccess resize_access(const NodeView& node) {
  if (!is_plain_int8(node) || !is_picture(node.input(0))) return {};
  const RowAccess access = known_row_access(node, false);
  const bool fits =
      access.stride <= kMaxRowExtent && access.per <= kMaxRowExtent && access.extent <= kMaxRowExtent;
  return fits ? access : RowAccess();
}

int32_t greatest_divisor(int32_t a, int32_t b) {
  while (b != 0) {
    const int32_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

// Row y lies at y * stride / per + shift in the input, so the remainders of the quotient reach from the first row to the
// last one. Where corners fall together the step is (from - 1) / (to - 1): the shift is 0 at the first row, stride / per - 1
// at the last one, and between them elsewhere.
void set_resize_rows(const NodeView& node, RowAccess* access) {
  const ResizeOptions& options = node.options<ResizeOptions>();
  const int32_t from = node.input(0).shape[1], to = node.output().shape[1],
                common = greatest_divisor(from, to);
  access->stride = from / common;
  access->per = to / common;
  const int32_t divisor = 2 * access->per;
  const int32_t centres = access->stride - access->per;  // between their centres, in halves of 1 / per
  int32_t least = 0, most = 0;                           // of the shift
  if (options.coordinates == Coordinates::kHalfPixel) least = most = centres;
  if (options.coordinates == Coordinates::kAlignCorners) (centres < 0 ? least : most) = 2 * centres;
  const bool nearest = options.interpolation == Interpolation::kNearest;
  const NearestRounding rounding = nearest ? options.rounding : NearestRounding::kFloor;
  access->pad = -round_quotient(rounding, least, divisor);
  const int32_t last = round_quotient(rounding, most + divisor - 2, divisor) + (nearest ? 0 : 1);
  access->extent = last + access->pad + 1;
}

}  // namespace

RowAccess row_access(const NodeView& node) {
  if (is_elementwise(node.info.op)) return elementwise_access(node);
  switch (node.info.op) {
    case Op::kConv2d:
    case Op::kDepthwiseConv2d:
    case Op::kMaxPool2d:
      return window_access(node, node.options<Window2d>());
    case Op::kAvgPool2d:
      return node.has_input(0) ? average_access(node) : RowAccess();
    case Op::kMean:
      return mean_access(node);
    case Op::kLookup:
    case Op::kGroupedLookup:
      return is_plain_int8(node) && is_picture(node.input(0)) ? kRowByRow : RowAccess();
    case Op::kConcat:
      return concat_access(node);
    case Op::kPad:
      return pad_access(node);
    case Op::kResize:
      return resize_access(node);
    default:
      return {};
  }
}

RowAccess known_row_access(const NodeView& node, bool reduces) {
  RowAccess access{true, reduces, 1, 1, 0, 1};
  if (reduces) return access;
  if (const auto* const window = node.info.options.get<Window2d>()) {
    access.stride = window->stride_h;
    access.extent = static_cast<int32_t>(window_extent(window->kernel_h, window->dilation_h));
    access.pad = window->pad_top;
  } else if (const auto* const pad = node.info.options.get<PadOptions>()) {
    access.pad = pad->before[1];
  } else if (node.info.op == Op::kResize) {
    set_resize_rows(node, &access);
  }
  return access;
}

bool reads_rows(Op op, int32_t i, const TensorInfo& info, const TensorInfo& output) {
  if (info.is_constant() || !is_picture(info)) return false;
  if (is_elementwise(op)) return info.shape[1] == output.shape[1];
  return i == 0 || op == Op::kConv2d || op == Op::kConcat;
}

}  // namespace intaglio

#endif
