// Average and maximum over windows of an NHWC tensor.
#include "kernels/pool/pool.h"
#include "runtime/ops/checks.h"
#include "runtime/ops/pool_windows.h"

namespace intaglio {
namespace {

Error plan_s8(const NodeView& node) {
  ITG_TRY(check_counts(node, 1, 1));
  ITG_TRY(check_input_s8(node, 0));
  ITG_TRY(check_output_s8(node));
  ITG_TRY(check_clamp_codes(node));
  return check_pool_geometry(node);
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
  return check_pool_geometry(node);
}

void run_average_s8(const NodeView& node, const NodeRun& run) {
  const Quantization in = node.input(0).quantization, out = node.output().quantization;
  const Pool2dOptions& o = node.options<Pool2dOptions>();
  const OutputS8 output = make_output_s8(out.zero_point, o.clamp.lo, o.clamp.hi);
  const int32_t channels = node.output_shape()[3];
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
  const int32_t channels = node.output_shape()[3];
  AverageF32* const average = pool_f32_kernel(run.kernel).average;
  const int32_t block = sum_block(node);
  for_each_window<float>(node, run, [&](const float* x, const Taps& taps, float* y) {
    average(x, taps, block, divisor(o.window, taps), clamp, y, channels);
  });
}

void run_max_s8(const NodeView& node, const NodeRun& run) {
  const int32_t zero_point = node.output_zero_point();
  const Pool2dOptions& o = node.options<Pool2dOptions>();
  const int32_t channels = node.output_shape()[3];
  MaxS8* const max = pool_s8_kernel(run.kernel).max;
  for_each_window<int8_t>(node, run, [&](const int8_t* x, const Taps& taps, int8_t* y) {
    max(x, taps, zero_point, o.clamp.lo, o.clamp.hi, y, channels);
  });
}

void run_max_f32(const NodeView& node, const NodeRun& run) {
  const ClampF32 clamp = fused_clamp(node);
  const int32_t channels = node.output_shape()[3];
  MaxF32* const max = pool_f32_kernel(run.kernel).max;
  for_each_window<float>(
      node, run, [&](const float* x, const Taps& taps, float* y) { max(x, taps, clamp, y, channels); });
}

const char* name_s8(uint16_t kernel) { return pool_s8_kernel(kernel).name; }
const char* name_f32(uint16_t kernel) { return pool_f32_kernel(kernel).name; }

}  // namespace

extern const OpRun kAvgPool2dS8Run, kAvgPool2dF32Run, kMaxPool2dS8Run, kMaxPool2dF32Run;
const OpRun kAvgPool2dS8Run = {run_average_s8}, kAvgPool2dF32Run = {run_average_f32},
            kMaxPool2dS8Run = {run_max_s8}, kMaxPool2dF32Run = {run_max_f32};

extern const OpDef kAvgPool2dS8, kAvgPool2dF32, kMaxPool2dS8, kMaxPool2dF32;
const OpDef kAvgPool2dS8 = {Op::kAvgPool2d, DType::kS8,       -1,     {}, plan_average_s8,
                            nullptr,        &kAvgPool2dS8Run, name_s8};
const OpDef kAvgPool2dF32 = {Op::kAvgPool2d, DType::kF32,       -1,      averaging_rule(), plan_f32,
                             nullptr,        &kAvgPool2dF32Run, name_f32};
const OpDef kMaxPool2dS8 = {Op::kMaxPool2d, DType::kS8,       -1,     max_pool_rule(), plan_max_s8,
                            nullptr,        &kMaxPool2dS8Run, name_s8};
const OpDef kMaxPool2dF32 = {Op::kMaxPool2d, DType::kF32,       -1,      max_pool_rule(), plan_f32,
                             nullptr,        &kMaxPool2dF32Run, name_f32};

Error check_pool_geometry(const NodeView& node) {
  ITG_TRY(check_input_rank(node, 0, 4));
  ITG_TRY(check_output_rank(node, 4));
  const Shape in = node.input_shape(0), out = node.output_shape();
  for (const int32_t axis : {0, 3})
    if (out[axis] != in[axis]) return node.output_error(Status::kShapeMismatch, 0, out[axis], in[axis]);
  return check_window(node, in[1], in[2], out[1], out[2]);
}

}  // namespace intaglio
