// The larger, and the smaller, of two tensors' elements, each tensor repeated where it is smaller. In int8
// all three tensors have one scale and zero point, so that codes compare as their values do.
#include "kernels/eltwise/eltwise_f32.h"
#include "kernels/eltwise/eltwise_s8.h"
#include "runtime/ops/broadcast.h"
#include "runtime/ops/checks.h"

namespace intaglio {
namespace {

Error plan_s8(const NodeView& node, const PlanContext&, NodePlan*) {
  ITG_TRY(check_operands_s8(node));
  const Quantization out = node.output().quantization;
  for (const int32_t i : {0, 1}) {
    const Quantization in = node.input(i).quantization;
    if (in.scales[0] != out.scales[0] || in.zero_point != out.zero_point)
      return node.input_error(Status::kQuantizationMismatch, i, in.zero_point, out.zero_point);
  }
  return kNoError;
}

Error plan_f32(const NodeView& node, const PlanContext&, NodePlan*) { return check_operands_f32(node); }

void run_s8(const NodeView& node, const NodeRun& run) {
  const Clamp& clamp = node.options<Clamp>();
  const auto lo = static_cast<int8_t>(clamp.lo), hi = static_cast<int8_t>(clamp.hi);
  const auto choose = node.info.op == Op::kMaximum ? max_rows_s8 : min_rows_s8;
  for_each_operand_rows<int8_t>(
      node, run, [&](const int8_t* large, const int8_t* small, int8_t* y, int32_t rows, int32_t n, bool) {
        choose(large, small, y, rows, n, lo, hi);
      });
}

void run_f32(const NodeView& node, const NodeRun& run) {
  const ClampF32 clamp = fused_clamp(node);
  const auto choose = node.info.op == Op::kMaximum ? max_rows_f32 : min_rows_f32;
  for_each_operand_rows<float>(
      node, run, [&](const float* large, const float* small, float* y, int32_t rows, int32_t n, bool) {
        choose(large, small, y, rows, n, clamp);
      });
}

constexpr QuantRule quant_rule() {
  QuantRule rule = sign_keeping_rule();
  rule.inputs_as_output = true;
  return rule;
}

}  // namespace

extern const OpRun kMaximumS8Run, kMaximumF32Run, kMinimumS8Run, kMinimumF32Run;
const OpRun kMaximumS8Run = {run_s8}, kMaximumF32Run = {run_f32}, kMinimumS8Run = {run_s8},
            kMinimumF32Run = {run_f32};

extern const OpDef kMaximumS8, kMaximumF32, kMinimumS8, kMinimumF32;
const OpDef kMaximumS8 = {Op::kMaximum, DType::kS8,     0,      quant_rule(), plan_s8,
                          nullptr,      &kMaximumS8Run, nullptr};
const OpDef kMaximumF32 = {Op::kMaximum, DType::kF32,     0,      quant_rule(), plan_f32,
                           nullptr,      &kMaximumF32Run, nullptr};
const OpDef kMinimumS8 = {Op::kMinimum, DType::kS8,     0,      quant_rule(), plan_s8,
                          nullptr,      &kMinimumS8Run, nullptr};
const OpDef kMinimumF32 = {Op::kMinimum, DType::kF32,     0,      quant_rule(), plan_f32,
                           nullptr,      &kMinimumF32Run, nullptr};

}  // namespace intaglio
