// Softmax over the last axis, of codes of 16 bits. Apart from softmax.cc, so that a program without it pays nothing.
#include "kernels/normalize/softmax.h"
#include "runtime/ops/softmax_rows.h"

namespace intaglio {
namespace {

Error plan_s16(const NodeView& node, const PlanContext& context, NodePlan* plan) {
  ITG_TRY(check_counts(node, 2, 2));
  ITG_TRY(check_ends_s16(node));
  ITG_TRY(check_output_shape(node, node.input_shape(0)));
  plan->kernel = static_cast<uint16_t>(softmax_s16_select(context.isa));
  return check_softmax_table<kSoftmaxTableS16 - kSoftmaxTableEntries>(node);
}

void run_s16(const NodeView& node, const NodeRun& run) {
  const float reciprocal_scale = 1.0f / node.output().quantization.scales[0];
  const auto* const table = run.input<int32_t>(node, 1);
  SoftmaxS16* const softmax = softmax_s16_kernel(run.kernel).function;
  for_each_softmax_row<int16_t>(
      node, run, [&](const int16_t* x, int16_t* y, int32_t n) { softmax(x, table, reciprocal_scale, y, n); });
}

const char* kernel_name_s16(uint16_t kernel) { return softmax_s16_kernel(kernel).name; }

}  // namespace

extern const OpRun kSoftmaxS16Run;
const OpRun kSoftmaxS16Run = {run_s16};

extern const OpDef kSoftmaxS16;
const OpDef kSoftmaxS16 = {Op::kSoftmax,    DType::kS16,    0, {}, plan_s16, nullptr,
                           &kSoftmaxS16Run, kernel_name_s16};

}  // namespace intaglio
