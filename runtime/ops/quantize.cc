// FP32 to int8: an int8 region's entrance.
#include "kernels/quantize/quantize_s8.h"
#include "runtime/ops/checks.h"
#include "runtime/ops/split.h"

namespace intaglio {
namespace {

Error plan(const NodeView& node, const PlanContext& context, NodePlan* plan) {
  ITG_TRY(check_counts(node, 1, 1));
  ITG_TRY(check_input_dtype(node, 0, DType::kF32));
  ITG_TRY(check_output_s8(node));
  ITG_TRY(check_clamp_codes(node));
  plan->kernel = static_cast<uint16_t>(quantize_s8_select(context.isa));
  return check_output_shape(node, node.input_shape(0));
}

void run(const NodeView& node, const NodeRun& run) {
  const Quantization out = node.output().quantization;
  const Clamp& clamp = node.options<Clamp>();
  const OutputS8 output = make_output_s8(out.zero_point, clamp.lo, clamp.hi);
  const auto* const x = run.input<float>(node, 0);
  auto* const y = run.output<int8_t>(node);
  const auto quantize = quantize_s8_kernel(run.kernel).quantize;
  for_pieces(*run.executor, node.output_shape().elements(), 1, [&](int32_t first, int32_t count) {
    quantize(x + first, out.scales[0], output, y + first, count);
  });
}

const char* kernel_name(uint16_t kernel) { return quantize_s8_kernel(kernel).name; }

}  // namespace

extern const OpRun kQuantizeS8Run;
const OpRun kQuantizeS8Run = {run};

extern const OpDef kQuantizeS8;
const OpDef kQuantizeS8 = {Op::kQuantize, DType::kS8,      -1,          {},         plan,
                           nullptr,       &kQuantizeS8Run, kernel_name, DType::kF32};

}  // namespace intaglio
