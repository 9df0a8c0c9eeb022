// Division of two tensors, each repeated where it is smaller.
#include "kernels/eltwise/eltwise_f32.h"
#include "kernels/eltwise/eltwise_s8.h"
#include "runtime/ops/broadcast.h"
#include "runtime/ops/checks.h"

namespace intaglio {
namespace {

Error plan_s8(const NodeView& node, const PlanContext&, NodePlan*) { return check_operands_s8(node); }

Error plan_f32(const NodeView& node, const PlanContext&, NodePlan*) { return check_operands_f32(node); }

void run_s8(const NodeView& node, const NodeRun& run) {
  const Quantization a = node.input(0).quantization, b = node.input(1).quantization;
  const Quantization y = node.output().quantization;
  const Clamp& clamp = node.options<Clamp>();
  const float product = b.scales[0] * y.scales[0];
  const DivS8 params = {a.zero_point, b.zero_point, a.scales[0] / product,
                        make_output_s8(y.zero_point, clamp.lo, clamp.hi)};
  for_each_operand_rows<int8_t>(
      node, run,
      [&](const int8_t* large, const int8_t* small, int8_t* out, int32_t rows, int32_t n, bool swap) {
        (swap ? div_from_rows_s8 : div_rows_s8)(large, small, out, rows, n, params);
      });
}

void run_f32(const NodeView& node, const NodeRun& run) {
  const ClampF32 clamp = fused_clamp(node);
  for_each_operand_rows<float>(
      node, run, [&](const float* large, const float* small, float* out, int32_t rows, int32_t n, bool swap) {
        (swap ? div_from_rows_f32 : div_rows_f32)(large, small, out, rows, n, clamp);
      });
}

}  // namespace

extern const OpRun kDivS8Run, kDivF32Run;
const OpRun kDivS8Run = {run_s8}, kDivF32Run = {run_f32};

extern const OpDef kDivS8, kDivF32;
const OpDef kDivS8 = {Op::kDiv, DType::kS8, 0, sign_keeping_rule(), plan_s8, nullptr, &kDivS8Run, nullptr};
const OpDef kDivF32 = {Op::kDiv, DType::kF32, 0,           sign_keeping_rule(),
                       plan_f32, nullptr,     &kDivF32Run, nullptr};

}  // namespace intaglio
