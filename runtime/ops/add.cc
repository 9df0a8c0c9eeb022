// Addition and subtraction of two tensors, each repeated where it is smaller.
#include "kernels/eltwise/eltwise_f32.h"
#include "kernels/eltwise/eltwise_s8.h"
#include "runtime/add_params.h"
#include "runtime/ops/broadcast.h"
#include "runtime/ops/checks.h"

namespace intaglio {
namespace {

// a - b is a sum whose second multiplier is negative.
bool make_params(const NodeView& node, AddS8* params) {
  const Quantization a = node.input(0).quantization, b = node.input(1).quantization;
  const Quantization y = node.output().quantization;
  const AddOptions& o = node.options<AddOptions>();
  *params = {a.zero_point, b.zero_point, 0, 0, 0, y.zero_point, o.clamp.lo, o.clamp.hi};
  const bool good = set_add_multipliers(a.scales[0], b.scales[0], y.scales[0], params, o.add_bits);
  if (node.info.op == Op::kSub) params->b_multiplier = -params->b_multiplier;
  return good;
}

Error plan_s8(const NodeView& node, const PlanContext& context, NodePlan* plan) {
  ITG_TRY(check_operands_s8(node));
  const int32_t bits = node.options<AddOptions>().add_bits;
  if (bits < kAddBits || bits > kMaxAddBits) return node.error(Status::kBadAddBits, bits, kMaxAddBits);
  AddS8 params = {};
  if (!make_params(node, &params)) return node.error(Status::kScaleRatio);
  plan->kernel = static_cast<uint16_t>(eltwise_s8_select(context.isa));
  return kNoError;
}

Error plan_f32(const NodeView& node, const PlanContext& context, NodePlan* plan) {
  plan->kernel = static_cast<uint16_t>(eltwise_f32_select(context.isa));
  return check_operands_f32(node);
}

void run_s8(const NodeView& node, const NodeRun& run) {
  AddS8 params = {};
  make_params(node, &params);
  AddS8 swapped = params;
  swapped.a_zero_point = params.b_zero_point;
  swapped.a_multiplier = params.b_multiplier;
  swapped.b_zero_point = params.a_zero_point;
  swapped.b_multiplier = params.a_multiplier;
  const EltwiseS8Kernel& kernel = eltwise_s8_kernel(run.kernel);
  for_each_operands<int8_t>(
      node, run,
      [&](const int8_t* large, int8_t small, int8_t* y, int32_t n, bool swap) {
        kernel.add_code(large, small, y, n, swap ? swapped : params);
      },
      [&](const int8_t* large, const int8_t* small, int8_t* y, int32_t rows, int32_t n, bool swap) {
        kernel.add_rows(large, small, y, rows, n, swap ? swapped : params);
      });
}

void run_f32(const NodeView& node, const NodeRun& run) {
  const ClampF32 clamp = fused_clamp(node);
  const bool subtract = node.info.op == Op::kSub;
  for_each_operands<float>(
      node, run,
      [&](const float* large, float small, float* y, int32_t n, bool swap) {
        if (subtract && swap) return sub_from_value_f32(large, small, y, n, clamp);
        add_value_f32(large, subtract ? -small : small, y, n, clamp);
      },
      [&](const float* large, const float* small, float* y, int32_t rows, int32_t n, bool swap) {
        RowsF32* const combine = !subtract ? eltwise_f32_kernel(run.kernel).add_rows
                                 : swap    ? sub_from_rows_f32
                                           : sub_rows_f32;
        combine(large, small, y, rows, n, clamp);
      });
}

const char* kernel_name(uint16_t kernel) { return eltwise_s8_kernel(kernel).name; }
const char* kernel_name_f32(uint16_t kernel) { return eltwise_f32_kernel(kernel).name; }

constexpr QuantRule add_rule() {
  QuantRule rule;
  rule.sign = SignRule::kKeeps;
  rule.folds_residual = true;
  rule.sums = true;
  rule.channels = ChannelRule::kShifts;
  return rule;
}

constexpr QuantRule sub_rule() {
  QuantRule rule;
  rule.sums = true;
  rule.channels = ChannelRule::kScales;
  return rule;
}

}  // namespace

extern const OpRun kAddS8Run, kAddF32Run, kSubS8Run, kSubF32Run;
const OpRun kAddS8Run = {run_s8}, kAddF32Run = {run_f32}, kSubS8Run = {run_s8}, kSubF32Run = {run_f32};

extern const OpDef kAddS8, kAddF32, kSubS8, kSubF32;
const OpDef kAddS8 = {Op::kAdd, DType::kS8, 0, add_rule(), plan_s8, nullptr, &kAddS8Run, kernel_name};
const OpDef kAddF32 = {Op::kAdd, DType::kF32, 0, add_rule(), plan_f32, nullptr, &kAddF32Run, kernel_name_f32};
const OpDef kSubS8 = {Op::kSub, DType::kS8, 0, sub_rule(), plan_s8, nullptr, &kSubS8Run, kernel_name};
const OpDef kSubF32 = {Op::kSub, DType::kF32, 0, sub_rule(), plan_f32, nullptr, &kSubF32Run, kernel_name_f32};

}  // namespace intaglio
