// ReLU, ReLU6 and the like where nothing before them could take them in. In int8 it is a Lookup.
#include "kernels/eltwise/eltwise_f32.h"
#include "runtime/ops/checks.h"
#include "runtime/ops/split.h"

namespace intaglio {
namespace {

Error plan(const NodeView& node, const PlanContext&, NodePlan*) {
  ITG_TRY(check_counts(node, 1, 1));
  ITG_TRY(check_input_dtype(node, 0, DType::kF32));
  ITG_TRY(check_output_dtype(node, DType::kF32));
  ITG_TRY(check_clamp_reals(node));
  return check_output_shape(node, node.input_shape(0));
}

void run(const NodeView& node, const NodeRun& run) {
  const ClampF32 clamp = fused_clamp(node);
  const auto* const x = run.input<float>(node, 0);
  auto* const y = run.output<float>(node);
  for_pieces(*run.executor, node.output_shape().elements(), 1,
             [&](int32_t first, int32_t count) { clamp_row_f32(x + first, y + first, count, clamp); });
}

double clamp_real(const NodeOptions& options, double x) {
  const Clamp& clamp = options.as<Clamp>();
  const double lo = clamp.min, hi = clamp.max;
  x = x > lo ? x : lo;
  return x < hi ? x : hi;
}

constexpr QuantRule quant_rule() {
  QuantRule rule;
  rule.sign = SignRule::kKeeps;
  rule.clips = true;
  rule.table = TableRule::kUnary;
  rule.unary = clamp_real;
  rule.channels = ChannelRule::kScales;
  return rule;
}

}  // namespace

extern const OpRun kClampF32Run;
const OpRun kClampF32Run = {run};

extern const OpDef kClampF32;
const OpDef kClampF32 = {Op::kClamp, DType::kF32, 0, quant_rule(), plan, nullptr, &kClampF32Run, nullptr};

}  // namespace intaglio
