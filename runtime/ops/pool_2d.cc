// Average and maximum over windows of an NHWC tensor.
#include "kernels/pool/pool_f32.h"
#include "kernels/pool/pool_s8.h"
#include "runtime/ops/checks.h"
#include "runtime/ops/fused_clamp.h"
#include "runtime/window.h"

namespace intaglio {
namespace {

Error check_geometry(const NodeView& node) {
  ITG_TRY(check_input_rank(node, 0, 4));
  ITG_TRY(check_output_rank(node, 4));
  const Shape in = node.input(0).shape, out = node.output().shape;
  for (const int32_t axis : {0, 3})
    if (out[axis] != in[axis]) return node.output_error(Status::kShapeMismatch, 0, out[axis], in[axis]);
  return check_window(node, in[1], in[2], out[1], out[2]);
}

Error plan_s8(const NodeView& node) {
  ITG_TRY(check_counts(node, 1, 1));
  ITG_TRY(check_input_s8(node, 0));
  ITG_TRY(check_output_s8(node));
  ITG_TRY(check_clamp_codes(node));
  return check_geometry(node);
}

Error plan_average_s8(const NodeView& node, const PlanContext& context, NodePlan* plan) {
  ITG_TRY(plan_s8(node));
  plan->kernel = static_cast<uint16_t>(pool_s8_select(context.isa));
  const Window2d& w = node.options<Window2d>();
  return check_sum_s8(node, int64_t{w.kernel_h} * w.kernel_w);
}

Error plan_max_s8(const NodeView& node, const PlanContext& context, NodePlan* plan) {
  ITG_TRY(plan_s8(node));
  plan->kernel = static_cast<uint16_t>(pool_s8_select(context.isa));
  return check_same_quantization(node);
}

Error plan_f32(const NodeView& node, const PlanContext& context, NodePlan* plan) {
  ITG_TRY(check_counts(node, 1, 1));
  ITG_TRY(check_input_dtype(node, 0, DType::kF32));
  ITG_TRY(check_output_dtype(node, DType::kF32));
  ITG_TRY(check_clamp_reals(node));
  plan->kernel = static_cast<uint16_t>(pool_f32_select(context.isa));
  return check_geometry(node);
}

// Which taps of a window's axis lie inside the input: [first, first + count).
struct ValidTaps {
  int32_t first, count;
};

ValidTaps valid_taps(int32_t start, int32_t kernel, int32_t dilation, int32_t size) {
  if (start >= 0 && start < size && kernel <= (size - start) / 2 && dilation == 1) return {0, kernel};
  const int32_t first = start < 0 ? (-start + dilation - 1) / dilation : 0;
  const int32_t inside = start < size ? (size - 1 - start) / dilation + 1 : 0;
  const int32_t last = inside < kernel ? inside : kernel;
  return {first, last > first ? last - first : 0};
}

// Calls pool(x, taps, y) for each output position; one task an output row.
template <typename T, typename Pool>
void for_each_window(const NodeView& node, const NodeRun& run, Pool pool) {
  const Shape in = node.input(0).shape, out = node.output().shape;
  const Window2d& w = node.options<Window2d>();
  const int32_t in_h = in[1], in_w = in[2], out_h = out[1], out_w = out[2], channels = in[3];
  const auto* const x = run.input<T>(node, 0);
  auto* const y = run.output<T>(node);
  parallel_for(*run.executor, out[0] * out_h, [&](int32_t row) {
    const int32_t image = row / out_h, out_y = row % out_h;
    const ValidTaps rows = valid_taps(input_y(w, out_y, 0), w.kernel_h, w.dilation_h, in_h);
    T* target = y + static_cast<ptrdiff_t>(row) * out_w * channels;
    for (int32_t out_x = 0; out_x < out_w; ++out_x, target += channels) {
      const ValidTaps columns = valid_taps(input_x(w, out_x, 0), w.kernel_w, w.dilation_w, in_w);
      // A step is used, and then fits 32 bits, where there is more than one tap.
      const Taps taps = {{1, rows.count, columns.count},
                         {0, rows.count > 1 ? w.dilation_h * in_w * channels : 0,
                          columns.count > 1 ? w.dilation_w * channels : 0}};
      const T* source = x;
      if (taps_count(taps) > 0) {
        const ptrdiff_t line = static_cast<ptrdiff_t>(image) * in_h + input_y(w, out_y, rows.first);
        source += (line * in_w + input_x(w, out_x, columns.first)) * channels;
      }
      pool(source, taps, target);
    }
  });
}

int32_t divisor(const Window2d& w, const Taps& taps) {
  return w.count_include_pad ? w.kernel_h * w.kernel_w : taps_count(taps);
}

void run_average_s8(const NodeView& node, const NodeRun& run) {
  const Quantization in = node.input(0).quantization, out = node.output().quantization;
  const Pool2dOptions& o = node.options<Pool2dOptions>();
  const OutputS8 output = make_output_s8(out.zero_point, o.clamp.lo, o.clamp.hi);
  const int32_t channels = node.output().shape[3];
  AverageS8* const average = pool_s8_kernel(run.kernel).average;
  for_each_window<int8_t>(node, run, [&](const int8_t* x, const Taps& taps, int8_t* y) {
    const int32_t n = divisor(o.window, taps);
    const float multiplier = n == 0 ? 0.0f : mean_multiplier(in.scales[0], out.scales[0], n);
    average(x, taps, in.zero_point, multiplier, output, y, channels);
  });
}

void run_average_f32(const NodeView& node, const NodeRun& run) {
  const Pool2dOptions& o = node.options<Pool2dOptions>();
  const ClampF32 clamp{o.clamp.min, o.clamp.max};
  const int32_t channels = node.output().shape[3];
  AverageF32* const average = pool_f32_kernel(run.kernel).average;
  for_each_window<float>(node, run, [&](const float* x, const Taps& taps, float* y) {
    average(x, taps, divisor(o.window, taps), clamp, y, channels);
  });
}

void run_max_s8(const NodeView& node, const NodeRun& run) {
  const int32_t zero_point = node.output().quantization.zero_point;
  const Pool2dOptions& o = node.options<Pool2dOptions>();
  const int32_t channels = node.output().shape[3];
  MaxS8* const max = pool_s8_kernel(run.kernel).max;
  for_each_window<int8_t>(node, run, [&](const int8_t* x, const Taps& taps, int8_t* y) {
    max(x, taps, zero_point, o.clamp.lo, o.clamp.hi, y, channels);
  });
}

void run_max_f32(const NodeView& node, const NodeRun& run) {
  const ClampF32 clamp = fused_clamp(node);
  const int32_t channels = node.output().shape[3];
  MaxF32* const max = pool_f32_kernel(run.kernel).max;
  for_each_window<float>(
      node, run, [&](const float* x, const Taps& taps, float* y) { max(x, taps, clamp, y, channels); });
}

const char* name_s8(uint16_t kernel) { return pool_s8_kernel(kernel).name; }
const char* name_f32(uint16_t kernel) { return pool_f32_kernel(kernel).name; }

constexpr QuantRule same_as_input() {
  QuantRule rule;
  rule.output = OutputRule::kSameAsInput;
  rule.sign = SignRule::kKeeps;
  rule.channels = ChannelRule::kShifts;
  return rule;
}

}  // namespace

extern const OpRun kAvgPool2dS8Run, kAvgPool2dF32Run, kMaxPool2dS8Run, kMaxPool2dF32Run;
const OpRun kAvgPool2dS8Run = {run_average_s8}, kAvgPool2dF32Run = {run_average_f32},
            kMaxPool2dS8Run = {run_max_s8}, kMaxPool2dF32Run = {run_max_f32};

extern const OpDef kAvgPool2dS8, kAvgPool2dF32, kMaxPool2dS8, kMaxPool2dF32;
const OpDef kAvgPool2dS8 = {Op::kAvgPool2d, DType::kS8,       -1,     {}, plan_average_s8,
                            nullptr,        &kAvgPool2dS8Run, name_s8};
const OpDef kAvgPool2dF32 = {Op::kAvgPool2d, DType::kF32,       -1,      averaging_rule(), plan_f32,
                             nullptr,        &kAvgPool2dF32Run, name_f32};
const OpDef kMaxPool2dS8 = {Op::kMaxPool2d, DType::kS8,       -1,     same_as_input(), plan_max_s8,
                            nullptr,        &kMaxPool2dS8Run, name_s8};
const OpDef kMaxPool2dF32 = {Op::kMaxPool2d, DType::kF32,       -1,      same_as_input(), plan_f32,
                             nullptr,        &kMaxPool2dF32Run, name_f32};

}  // namespace intaglio
