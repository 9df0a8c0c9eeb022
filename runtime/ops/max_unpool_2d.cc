// Each element of x at the first greatest one of its window in a map, zeros elsewhere: x [n, h, w, c] and the map
// [n, H, W, c] to [n, H, W, c]. Windows touch and do not overlap: they are H / h by W / w. It turns back a MaxPool2D of the
// map. In int8 the map has a scale of its own, and of elements with one code the first is taken.
#include "runtime/ops/checks.h"
#include "runtime/ops/split.h"

namespace intaglio {
namespace {

Error check_windows(const NodeView& node) {
  ITG_TRY(check_input_rank(node, 0, 4));
  ITG_TRY(check_input_rank(node, 1, 4));
  const Shape x = node.input_shape(0), map = node.input_shape(1);
  for (int32_t axis = 0; axis < 4; ++axis) {
    const bool is_side = axis == 1 || axis == 2;
    if (is_side ? map[axis] % x[axis] != 0 : map[axis] != x[axis])
      return node.input_error(Status::kShapeMismatch, 1, map[axis], x[axis]);
  }
  return check_output_shape(node, map);
}

Error plan_s8(const NodeView& node, const PlanContext&, NodePlan*) {
  ITG_TRY(check_counts(node, 2, 2));
  ITG_TRY(check_input_s8(node, 0));
  ITG_TRY(check_input_s8(node, 1));
  ITG_TRY(check_output_s8(node));
  ITG_TRY(check_same_quantization(node));
  return check_windows(node);
}

Error plan_f32(const NodeView& node, const PlanContext&, NodePlan*) {
  ITG_TRY(check_counts(node, 2, 2));
  ITG_TRY(check_input_dtype(node, 0, DType::kF32));
  ITG_TRY(check_input_dtype(node, 1, DType::kF32));
  ITG_TRY(check_output_dtype(node, DType::kF32));
  return check_windows(node);
}

// One window of each channel in turn: the code is small, and the map's lines stay in the cache. NaN is greater than nothing,
// as in TopK.
template <typename T>
void place(const void* from, const void* places, void* to, const Shape& windows, const Shape& whole,
           int32_t zero) {
  const auto* const x = static_cast<const T*>(from);
  const auto* const map = static_cast<const T*>(places);
  auto* const y = static_cast<T*>(to);
  const int32_t channels = whole[3], line = whole[2] * channels;
  const int32_t kernel_h = whole[1] / windows[1], width = whole[2] / windows[2] * channels;
  for (int32_t c = 0; c < channels; ++c) {
    int32_t best = c;
    T greatest = map[c];
    for (int32_t row = 0; row < kernel_h; ++row) {
      const int32_t first = row * line + c;
      for (int32_t at = first; at < first + width; at += channels) {
        const T value = map[at];
        y[at] = static_cast<T>(zero);
        if (!(value > greatest)) continue;
        greatest = value;
        best = at;
      }
    }
    y[best] = x[c];
  }
}

// Rows of windows, one picture's behind another's.
void run_windows(const NodeView& node, const NodeRun& run, decltype(place<float>)* place, size_t element,
                 int32_t zero) {
  const Shape windows = node.input_shape(0), whole = node.output_shape();
  const auto* const x = run.input<uint8_t>(node, 0);
  const auto* const map = run.input<uint8_t>(node, 1);
  auto* const y = run.output<uint8_t>(node);
  const size_t pixel = static_cast<size_t>(whole[3]) * element;
  const auto columns = static_cast<size_t>(windows[2]), lines = static_cast<size_t>(whole[1] / windows[1]);
  const size_t width = static_cast<size_t>(whole[2]) / columns * pixel, height = lines * columns * width;
  for_pieces(*run.executor, int64_t{windows[0]} * windows[1], static_cast<int64_t>(height),
             [&](int32_t first, int32_t count) {
               for (int32_t row = first; row < first + count; ++row)
                 for (size_t column = 0; column < columns; ++column) {
                   const size_t at = static_cast<size_t>(row) * height + column * width;
                   place(x + (static_cast<size_t>(row) * columns + column) * pixel, map + at, y + at, windows,
                         whole, zero);
                 }
             });
}

void run_s8(const NodeView& node, const NodeRun& run) {
  run_windows(node, run, place<int8_t>, sizeof(int8_t), node.output_zero_point());
}
void run_f32(const NodeView& node, const NodeRun& run) {
  run_windows(node, run, place<float>, sizeof(float), 0);
}

constexpr QuantRule quant_rule() {
  QuantRule rule;
  rule.output = OutputRule::kSameAsInput;
  rule.sign = SignRule::kKeeps;
  return rule;
}

}  // namespace

extern const OpRun kMaxUnpool2dS8Run, kMaxUnpool2dF32Run;
const OpRun kMaxUnpool2dS8Run = {run_s8}, kMaxUnpool2dF32Run = {run_f32};

extern const OpDef kMaxUnpool2dS8, kMaxUnpool2dF32;
const OpDef kMaxUnpool2dS8 = {Op::kMaxUnpool2d, DType::kS8,         -1,     quant_rule(), plan_s8,
                              nullptr,          &kMaxUnpool2dS8Run, nullptr};
const OpDef kMaxUnpool2dF32 = {Op::kMaxUnpool2d, DType::kF32,         -1,     quant_rule(), plan_f32,
                               nullptr,          &kMaxUnpool2dF32Run, nullptr};

}  // namespace intaglio
