// Between s32 and FP32. To FP32: the nearest number, of two the even one; exact up to 2^24. To s32: towards 0, held within
// int32; NaN gives 0.
#include "runtime/ops/checks.h"
#include "runtime/ops/split.h"

namespace intaglio {
namespace {

Error plan_f32(const NodeView& node, const PlanContext&, NodePlan*) {
  ITG_TRY(check_counts(node, 1, 1));
  ITG_TRY(check_input_dtype(node, 0, DType::kS32));
  ITG_TRY(check_output_dtype(node, DType::kF32));
  return check_output_shape(node, node.input_shape(0));
}

Error plan_s32(const NodeView& node, const PlanContext&, NodePlan*) {
  ITG_TRY(check_counts(node, 1, 1));
  ITG_TRY(check_input_dtype(node, 0, DType::kF32));
  ITG_TRY(check_output_dtype(node, DType::kS32));
  return check_output_shape(node, node.input_shape(0));
}

void run_f32(const NodeView& node, const NodeRun& run) {
  const auto* const x = run.input<int32_t>(node, 0);
  auto* const y = run.output<float>(node);
  for_pieces(*run.executor, node.output_shape().elements(), 1, [&](int32_t first, int32_t count) {
    for (int32_t i = first; i < first + count; ++i) y[i] = static_cast<float>(x[i]);
  });
}

// C++ leaves open what a number beyond int32 becomes.
int32_t towards_zero(float x) {
  constexpr float kBeyond = 2147483648.0f;
  if (x >= kBeyond) return INT32_MAX;
  if (x >= -kBeyond) return static_cast<int32_t>(x);
  return x < -kBeyond ? INT32_MIN : 0;
}

void run_s32(const NodeView& node, const NodeRun& run) {
  const auto* const x = run.input<float>(node, 0);
  auto* const y = run.output<int32_t>(node);
  for_pieces(*run.executor, node.output_shape().elements(), 1, [&](int32_t first, int32_t count) {
    for (int32_t i = first; i < first + count; ++i) y[i] = towards_zero(x[i]);
  });
}

}  // namespace

extern const OpRun kCastF32Run, kCastS32Run;
const OpRun kCastF32Run = {run_f32}, kCastS32Run = {run_s32};

extern const OpDef kCastF32, kCastS32;
const OpDef kCastF32 = {Op::kCast, DType::kF32,  -1,      {},         plan_f32,
                        nullptr,   &kCastF32Run, nullptr, DType::kS32};
const OpDef kCastS32 = {Op::kCast, DType::kS32,  -1,      {},         plan_s32,
                        nullptr,   &kCastS32Run, nullptr, DType::kF32};

}  // namespace intaglio
