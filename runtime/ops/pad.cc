// A tensor with `before` elements of one value put before each axis, and as many behind as the output has room
// for.
#include <cfloat>

#include "kernels/arithmetic/requant_s16.h"
#include "kernels/copy/strided_copy.h"
#include "runtime/ops/checks.h"
#include "runtime/ops/split.h"

namespace intaglio {
namespace {

Error check_padding(const NodeView& node) {
  const PadOptions& o = node.options<PadOptions>();
  if (!(o.value >= -FLT_MAX && o.value <= FLT_MAX)) return node.error(Status::kBadAttribute, 2);
  const Shape in = node.input_shape(0), out = node.output_shape();
  ITG_TRY(check_output_rank(node, in.rank));
  if (o.before.size != static_cast<size_t>(in.rank))
    return node.error(Status::kBadRank, static_cast<int64_t>(o.before.size), in.rank);
  for (int32_t i = 0; i < in.rank; ++i) {
    const int32_t before = o.before[static_cast<size_t>(i)];
    if (out[i] < in[i]) return node.output_error(Status::kShapeMismatch, 0, out[i], in[i]);
    if (before < 0 || before > out[i] - in[i]) return node.error(Status::kBadPadding, before, out[i] - in[i]);
  }
  return kNoError;
}

Error plan_s8(const NodeView& node, const PlanContext&, NodePlan*) {
  ITG_TRY(check_counts(node, 1, 1));
  ITG_TRY(check_input_s8(node, 0));
  ITG_TRY(check_output_s8(node));
  ITG_TRY(check_same_quantization(node));
  return check_padding(node);
}

Error plan_s16(const NodeView& node, const PlanContext&, NodePlan*) {
  ITG_TRY(check_move_s16(node));
  return check_padding(node);
}

Error plan_f32(const NodeView& node, const PlanContext&, NodePlan*) {
  ITG_TRY(check_counts(node, 1, 1));
  ITG_TRY(check_input_dtype(node, 0, DType::kF32));
  ITG_TRY(check_output_dtype(node, DType::kF32));
  return check_padding(node);
}

// The input's elements, of `size` bytes, at their places. The last two axes are rows; those before them are counted through.
void copy_inside(const NodeView& node, const NodeRun& run, int32_t size) {
  const Shape in = node.input_shape(0), out = node.output_shape();
  const int32_t* const before = node.options<PadOptions>().before.data;
  const int32_t last = in.rank - 1, rows = last > 0 ? in[last - 1] : 1, bytes = in[last] * size;
  const ptrdiff_t slice = ptrdiff_t{rows} * bytes, y_row = ptrdiff_t{out[last]} * size;
  const auto* const x = run.input<uint8_t>(node, 0);
  auto* const y = run.output<uint8_t>(node);
  for_pieces(*run.executor, in.elements() * size / slice, slice, [&](int32_t first, int32_t count) {
    for (int32_t s = first; s < first + count; ++s) {
      ptrdiff_t place = ptrdiff_t{before[last]} * size, step = y_row;
      int32_t rest = s * rows;
      for (int32_t i = last - 1; i >= 0; --i) {
        place += (rest % in[i] + before[i]) * step;
        rest /= in[i];
        step *= out[i];
      }
      copy_rows(x + s * slice, y + place, rows, bytes, bytes, y_row);
    }
  });
}

template <typename T>
void run_padding(const NodeView& node, const NodeRun& run, T value) {
  auto* const y = run.output<T>(node);
  for_pieces(*run.executor, node.output_shape().elements(), 1, [&](int32_t first, int32_t count) {
    for (int32_t i = first; i < first + count; ++i) y[i] = value;
  });
  copy_inside(node, run, sizeof(T));
}

void run_s8(const NodeView& node, const NodeRun& run) {
  const Quantization q = node.output().quantization;
  const float value = node.options<PadOptions>().value;  // no NaN
  const int8_t code = clamp_and_round_s8(value / q.scales[0], make_output_s8(q.zero_point, -128, 127));
  run_padding<uint8_t>(node, run, static_cast<uint8_t>(code));
}

void run_s16(const NodeView& node, const NodeRun& run) {
  const float value = node.options<PadOptions>().value / node.output().quantization.scales[0];
  const int16_t code = clamp_and_round_s16(value, make_output_s16(-32768, 32767));
  run_padding<uint16_t>(node, run, static_cast<uint16_t>(code));
}

void run_f32(const NodeView& node, const NodeRun& run) {
  uint32_t bits;
  memcpy(&bits, &node.options<PadOptions>().value, sizeof bits);
  run_padding<uint32_t>(node, run, bits);
}

constexpr QuantRule quant_rule() {
  QuantRule rule;
  rule.output = OutputRule::kSameAsInput;
  rule.sign = SignRule::kKeeps;
  rule.channels = ChannelRule::kScales;
  return rule;
}

}  // namespace

extern const OpRun kPadS8Run, kPadS16Run, kPadF32Run;
const OpRun kPadS8Run = {run_s8}, kPadS16Run = {run_s16}, kPadF32Run = {run_f32};

extern const OpDef kPadS8, kPadS16, kPadF32;
const OpDef kPadS8 = {Op::kPad, DType::kS8, -1, quant_rule(), plan_s8, nullptr, &kPadS8Run, nullptr};
const OpDef kPadS16 = {Op::kPad, DType::kS16, -1, quant_rule(), plan_s16, nullptr, &kPadS16Run, nullptr};
const OpDef kPadF32 = {Op::kPad, DType::kF32, -1, quant_rule(), plan_f32, nullptr, &kPadF32Run, nullptr};

}  // namespace intaglio
