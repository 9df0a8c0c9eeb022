// Softmax over the last axis.
#include "kernels/normalize/softmax.h"
#include "runtime/ops/softmax_rows.h"

namespace intaglio {
namespace {

Error plan_s8(const NodeView& node, const PlanContext& context, NodePlan* plan) {
  ITG_TRY(check_counts(node, 2, 2));
  ITG_TRY(check_input_s8(node, 0));
  ITG_TRY(check_output_s8(node));
  ITG_TRY(check_output_shape(node, node.input_shape(0)));
  plan->kernel = static_cast<uint16_t>(softmax_s8_select(context.isa));
  return check_softmax_table<0>(node);
}

Error plan_f32(const NodeView& node, const PlanContext& context, NodePlan* plan) {
  ITG_TRY(check_counts(node, 1, 1));
  ITG_TRY(check_input_dtype(node, 0, DType::kF32));
  ITG_TRY(check_output_dtype(node, DType::kF32));
  ITG_TRY(check_output_shape(node, node.input_shape(0)));
  plan->kernel = static_cast<uint16_t>(softmax_f32_select(context.isa));
  return kNoError;
}

void run_s8(const NodeView& node, const NodeRun& run) {
  const Quantization out = node.output().quantization;
  const OutputS8 output = make_output_s8(out.zero_point, -128, 127);
  const float reciprocal_scale = 1.0f / out.scales[0];
  const auto* const table = run.input<int32_t>(node, 1);
  SoftmaxS8* const softmax = softmax_s8_kernel(run.kernel).function;
  for_each_softmax_row<int8_t>(node, run, [&](const int8_t* x, int8_t* y, int32_t n) {
    softmax(x, table, reciprocal_scale, output, y, n);
  });
}

void run_f32(const NodeView& node, const NodeRun& run) {
  SoftmaxF32* const softmax = softmax_f32_kernel(run.kernel).function;
  const int32_t block = sum_block(node);
  for_each_softmax_row<float>(node, run,
                              [&](const float* x, float* y, int32_t n) { softmax(x, y, n, block); });
}

const char* kernel_name_s8(uint16_t kernel) { return softmax_s8_kernel(kernel).name; }
const char* kernel_name_f32(uint16_t kernel) { return softmax_f32_kernel(kernel).name; }

constexpr QuantRule quant_rule() {
  QuantRule rule;
  rule.output = OutputRule::kFixed;
  rule.sign = SignRule::kNonNegative;
  rule.fixed_scale = 1.0f / 256.0f;
  rule.fixed_zero_point = -128;
  rule.table = TableRule::kSoftmax;
  return rule;
}

}  // namespace

extern const OpRun kSoftmaxS8Run, kSoftmaxF32Run;
const OpRun kSoftmaxS8Run = {run_s8}, kSoftmaxF32Run = {run_f32};

extern const OpDef kSoftmaxS8, kSoftmaxF32;
const OpDef kSoftmaxS8 = {Op::kSoftmax,   DType::kS8,    0, quant_rule(), plan_s8, nullptr,
                          &kSoftmaxS8Run, kernel_name_s8};
const OpDef kSoftmaxF32 = {Op::kSoftmax,    DType::kF32,    0, quant_rule(), plan_f32, nullptr,
                           &kSoftmaxF32Run, kernel_name_f32};

}  // namespace intaglio
