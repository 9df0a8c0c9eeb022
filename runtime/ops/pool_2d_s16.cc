// Average and maximum over windows of int16 codes.
#include "kernels/pool/pool.h"
#include "runtime/ops/pool_windows.h"

namespace intaglio {
namespace {

template <bool kAverages>
Error plan(const NodeView& node, const PlanContext&, NodePlan*) {
  ITG_TRY(check_counts(node, 1, 1));
  ITG_TRY(check_ends_s16(node));
  ITG_TRY(check_clamp_codes_s16(node));
  ITG_TRY(check_pool_geometry(node));
  const Window2d& w = node.options<Window2d>();
  return kAverages ? check_sum_s16(node, int64_t{w.kernel_h} * w.kernel_w) : check_same_quantization(node);
}

void run_average_s16(const NodeView& node, const NodeRun& run) {
  const float in = node.input(0).quantization.scales[0], out = node.output().quantization.scales[0];
  const Pool2dOptions& o = node.options<Pool2dOptions>();
  const OutputS16 output = make_output_s16(o.clamp.lo, o.clamp.hi);
  const int32_t channels = node.output_shape()[3];
  for_each_window<int16_t>(node, run, [&](const int16_t* x, const Taps& taps, int16_t* y) {
    const int32_t n = divisor(o.window, taps);
    average_s16(x, taps, n == 0 ? 0.0f : mean_multiplier(in, out, n), output, y, channels);
  });
}

void run_max_s16(const NodeView& node, const NodeRun& run) {
  const Pool2dOptions& o = node.options<Pool2dOptions>();
  const int32_t channels = node.output_shape()[3];
  for_each_window<int16_t>(node, run, [&](const int16_t* x, const Taps& taps, int16_t* y) {
    max_s16(x, taps, o.clamp.lo, o.clamp.hi, y, channels);
  });
}

}  // namespace

extern const OpRun kAvgPool2dS16Run, kMaxPool2dS16Run;
const OpRun kAvgPool2dS16Run = {run_average_s16}, kMaxPool2dS16Run = {run_max_s16};

extern const OpDef kAvgPool2dS16, kMaxPool2dS16;
const OpDef kAvgPool2dS16 = {Op::kAvgPool2d, DType::kS16,       -1,     {}, plan<true>,
                             nullptr,        &kAvgPool2dS16Run, nullptr};
const OpDef kMaxPool2dS16 = {Op::kMaxPool2d, DType::kS16,       -1,     max_pool_rule(), plan<false>,
                             nullptr,        &kMaxPool2dS16Run, nullptr};

}  // namespace intaglio
