// int8 to FP32: an int8 region's exit.
#include "kernels/quantize/quantize_s8.h"
#include "runtime/ops/checks.h"
#include "runtime/ops/split.h"

namespace intaglio {
namespace {

Error plan(const NodeView& node, const PlanContext& context, NodePlan* plan) {
  ITG_TRY(check_counts(node, 1, 1));
  ITG_TRY(check_input_s8(node, 0));
  ITG_TRY(check_output_dtype(node, DType::kF32));
  plan->kernel = static_cast<uint16_t>(quantize_s8_select(context.isa));
  return check_output_shape(node, node.input_shape(0));
}

void run(const NodeView& node, const NodeRun& run) {
  const Quantization in = node.input(0).quantization;
  const auto* const x = run.input<int8_t>(node, 0);
  auto* const y = run.output<float>(node);
  const auto dequantize = quantize_s8_kernel(run.kernel).dequantize;
  for_pieces(*run.executor, node.output_shape().elements(), 1, [&](int32_t first, int32_t count) {
    dequantize(x + first, in.scales[0], in.zero_point, y + first, count);
  });
}

const char* kernel_name(uint16_t kernel) { return quantize_s8_kernel(kernel).name; }

}  // namespace

extern const OpRun kDequantizeF32Run;
const OpRun kDequantizeF32Run = {run};

extern const OpDef kDequantizeF32;
const OpDef kDequantizeF32 = {Op::kDequantize, DType::kF32,        -1,          {},        plan,
                              nullptr,         &kDequantizeF32Run, kernel_name, DType::kS8};

}  // namespace intaglio
