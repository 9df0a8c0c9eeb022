// Addition, subtraction and multiplication of two tensors of int16 codes, each repeated where it is smaller.
#include "kernels/eltwise/codes_s16.h"
#include "runtime/ops/broadcast.h"
#include "runtime/ops/checks.h"

namespace intaglio {
namespace {

Error plan(const NodeView& node, const PlanContext& context, NodePlan* plan) {
  ITG_TRY(check_counts(node, 2, 2));
  ITG_TRY(check_ends_s16(node));
  ITG_TRY(check_input_s16(node, 1));
  ITG_TRY(check_clamp_codes_s16(node));
  plan->kernel = static_cast<uint16_t>(codes_s16_select(context.isa));
  return check_broadcast_shapes(node);
}

// a_multiplier, b_multiplier: of the node's first and second input.
void run_operands(const NodeView& node, const NodeRun& run, float a_multiplier, float b_multiplier,
                  void (*function)(const OperandsS16& operands, int16_t* y)) {
  const Clamp& clamp = node.options<Clamp>();
  const OutputS16 output = make_output_s16(clamp.lo, clamp.hi);
  const auto call = [&](const int16_t* large, const int16_t* small, bool one, int16_t* y, int32_t rows,
                        int32_t n, bool swapped) {
    function({large, small, one, rows, n, swapped ? b_multiplier : a_multiplier,
              swapped ? a_multiplier : b_multiplier, output},
             y);
  };
  for_each_operands<int16_t>(
      node, run,
      [&](const int16_t* large, int16_t small, int16_t* y, int32_t n, bool swapped) {
        call(large, &small, true, y, 1, n, swapped);
      },
      [&](const int16_t* large, const int16_t* small, int16_t* y, int32_t rows, int32_t n, bool swapped) {
        call(large, small, false, y, rows, n, swapped);
      });
}

void run_sum(const NodeView& node, const NodeRun& run) {
  const float out = node.output().quantization.scales[0];
  const float a = node.input(0).quantization.scales[0] / out, b = node.input(1).quantization.scales[0] / out;
  run_operands(node, run, a, node.info.op == Op::kSub ? -b : b, codes_s16_kernel(run.kernel).add);
}

void run_product(const NodeView& node, const NodeRun& run) {
  const float product = node.input(0).quantization.scales[0] * node.input(1).quantization.scales[0];
  const float multiplier = product / node.output().quantization.scales[0];
  run_operands(node, run, multiplier, multiplier, codes_s16_kernel(run.kernel).mul);
}

const char* kernel_name(uint16_t kernel) { return codes_s16_kernel(kernel).name; }

}  // namespace

extern const OpRun kAddS16Run, kSubS16Run, kMulS16Run;
const OpRun kAddS16Run = {run_sum}, kSubS16Run = {run_sum}, kMulS16Run = {run_product};

extern const OpDef kAddS16, kSubS16, kMulS16;
const OpDef kAddS16 = {Op::kAdd, DType::kS16, 0, {}, plan, nullptr, &kAddS16Run, kernel_name};
const OpDef kSubS16 = {Op::kSub, DType::kS16, 0, {}, plan, nullptr, &kSubS16Run, kernel_name};
const OpDef kMulS16 = {Op::kMul, DType::kS16, 0, {}, plan, nullptr, &kMulS16Run, kernel_name};

}  // namespace intaglio
