// x where it is positive, else x times the last axis's own slope. In int8 it is a Lookup with a table a
// channel.
#include "kernels/eltwise/eltwise_f32.h"
#include "runtime/ops/checks.h"
#include "runtime/ops/split.h"

namespace intaglio {
namespace {

Error plan(const NodeView& node, const PlanContext& context, NodePlan* plan) {
  ITG_TRY(check_counts(node, 2, 2));
  ITG_TRY(check_input_dtype(node, 0, DType::kF32));
  ITG_TRY(check_output_dtype(node, DType::kF32));
  ITG_TRY(check_constant(node, 1, DType::kF32, node.input_shape(0).back(0)));
  plan->kernel = static_cast<uint16_t>(prelu_f32_select(context.isa));
  return check_output_shape(node, node.input_shape(0));
}

void run(const NodeView& node, const NodeRun& run) {
  const Shape shape = node.output_shape();
  const int32_t channels = shape.back(0);
  const auto* const x = run.input<float>(node, 0);
  const auto* const slope = run.input<float>(node, 1);
  auto* const y = run.output<float>(node);
  for_pieces(*run.executor, shape.elements() / channels, channels, [&](int32_t first, int32_t rows) {
    const ptrdiff_t offset = static_cast<ptrdiff_t>(first) * channels;
    prelu_f32_kernel(run.kernel).rows(x + offset, slope, y + offset, rows, channels, kNoClamp);
  });
}

const char* kernel_name(uint16_t kernel) { return prelu_f32_kernel(kernel).name; }

double prelu_real(const NodeOptions&, double slope, double x) { return x > 0.0 ? x : slope * x; }

constexpr QuantRule quant_rule() {
  QuantRule rule;
  rule.sign = SignRule::kKeeps;
  rule.table = TableRule::kUnaryPerChannel;
  rule.parameter_input = 1;
  rule.channels = ChannelRule::kScales;
  rule.unary_per_channel = prelu_real;
  return rule;
}

}  // namespace

extern const OpRun kPReluF32Run;
const OpRun kPReluF32Run = {run};

extern const OpDef kPReluF32;
const OpDef kPReluF32 = {Op::kPRelu, DType::kF32, 0, quant_rule(), plan, nullptr, &kPReluF32Run, kernel_name};

}  // namespace intaglio
