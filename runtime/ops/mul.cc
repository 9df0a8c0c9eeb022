// Multiplication of two tensors, each repeated where it is smaller.
#include "kernels/eltwise/eltwise_f32.h"
#include "kernels/eltwise/eltwise_s8.h"
#include "runtime/ops/broadcast.h"
#include "runtime/ops/checks.h"

namespace intaglio {
namespace {

MulS8 make_params(const NodeView& node) {
  const Quantization a = node.input(0).quantization, b = node.input(1).quantization;
  const Quantization y = node.output().quantization;
  const Clamp& clamp = node.options<Clamp>();
  const float product = a.scales[0] * b.scales[0];
  return {a.zero_point, b.zero_point, product / y.scales[0],
          make_output_s8(y.zero_point, clamp.lo, clamp.hi)};
}

Error plan_s8(const NodeView& node, const PlanContext& context, NodePlan* plan) {
  ITG_TRY(check_operands_s8(node));
  plan->kernel = static_cast<uint16_t>(eltwise_s8_select(context.isa));
  return kNoError;
}

Error plan_f32(const NodeView& node, const PlanContext& context, NodePlan* plan) {
  plan->kernel = static_cast<uint16_t>(eltwise_f32_select(context.isa));
  return check_operands_f32(node);
}

void run_s8(const NodeView& node, const NodeRun& run) {
  const EltwiseS8Kernel& kernel = eltwise_s8_kernel(run.kernel);
  const MulS8 params = make_params(node);
  MulS8 swapped = params;
  swapped.a_zero_point = params.b_zero_point;
  swapped.b_zero_point = params.a_zero_point;
  for_each_operands<int8_t>(
      node, run,
      [&](const int8_t* x, int8_t factor, int8_t* y, int32_t n, bool swap) {
        kernel.mul_code(x, factor, y, n, swap ? swapped : params);
      },
      [&](const int8_t* x, const int8_t* row, int8_t* y, int32_t rows, int32_t n, bool swap) {
        kernel.mul_rows(x, row, y, rows, n, swap ? swapped : params);
      });
}

void run_f32(const NodeView& node, const NodeRun& run) {
  const ClampF32 clamp = fused_clamp(node);
  for_each_operands<float>(
      node, run,
      [&](const float* x, float factor, float* y, int32_t n, bool) { mul_value_f32(x, factor, y, n, clamp); },
      [&](const float* x, const float* row, float* y, int32_t rows, int32_t n, bool) {
        eltwise_f32_kernel(run.kernel).mul_rows(x, row, y, rows, n, clamp);
      });
}

const char* kernel_name(uint16_t kernel) { return eltwise_s8_kernel(kernel).name; }
const char* kernel_name_f32(uint16_t kernel) { return eltwise_f32_kernel(kernel).name; }

constexpr QuantRule product_rule() {
  QuantRule rule = sign_keeping_rule();
  rule.multiplies = true;
  return rule;
}

}  // namespace

extern const OpRun kMulS8Run, kMulF32Run;
const OpRun kMulS8Run = {run_s8}, kMulF32Run = {run_f32};

extern const OpDef kMulS8, kMulF32;
const OpDef kMulS8 = {Op::kMul, DType::kS8, 0, {}, plan_s8, nullptr, &kMulS8Run, kernel_name};
const OpDef kMulF32 = {Op::kMul, DType::kF32, 0,           product_rule(),
                       plan_f32, nullptr,     &kMulF32Run, kernel_name_f32};

}  // namespace intaglio
