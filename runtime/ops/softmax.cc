// Softmax over the last axis.
#include "kernels/normalize/softmax_f32.h"
#include "kernels/normalize/softmax_s16.h"
#include "kernels/normalize/softmax_s8.h"
#include "runtime/ops/checks.h"
#include "runtime/ops/split.h"

namespace intaglio {
namespace {

constexpr int32_t kTableEntries = 256, kOne = 1 << 30;

// A row's sum stays at most 2^30 and is not zero: the largest element adds table[0]. kFine entries of fractions of 2^30 stand
// behind it, the first of which is 1.
template <int32_t kFine>
Error check_table(const NodeView& node) {
  ITG_TRY(check_constant(node, 1, DType::kS32, kTableEntries + kFine));
  const auto* const table = reinterpret_cast<const int32_t*>(node.input(1).constant.data);
  const int32_t limit = kOne / node.input(0).shape.back(0);
  for (int32_t i = 0; i < kTableEntries; ++i)
    if (table[i] < (i == 0 ? 1 : 0) || table[i] > limit)
      return node.input_error(Status::kBadTable, 1, i, limit);
  for (int32_t i = kTableEntries; i < kTableEntries + kFine; ++i)
    if (table[i] < (i == kTableEntries ? kOne : 0) || table[i] > kOne)
      return node.input_error(Status::kBadTable, 1, i, kOne);
  return kNoError;
}

Error plan_s8(const NodeView& node, const PlanContext& context, NodePlan* plan) {
  ITG_TRY(check_counts(node, 2, 2));
  ITG_TRY(check_input_s8(node, 0));
  ITG_TRY(check_output_s8(node));
  ITG_TRY(check_output_shape(node, node.input(0).shape));
  plan->kernel = static_cast<uint16_t>(softmax_s8_select(context.isa));
  return check_table<0>(node);
}

Error plan_s16(const NodeView& node, const PlanContext& context, NodePlan* plan) {
  ITG_TRY(check_counts(node, 2, 2));
  ITG_TRY(check_ends_s16(node));
  ITG_TRY(check_output_shape(node, node.input(0).shape));
  plan->kernel = static_cast<uint16_t>(softmax_s16_select(context.isa));
  return check_table<kSoftmaxTableS16 - kTableEntries>(node);
}

Error plan_f32(const NodeView& node, const PlanContext& context, NodePlan* plan) {
  ITG_TRY(check_counts(node, 1, 1));
  ITG_TRY(check_input_dtype(node, 0, DType::kF32));
  ITG_TRY(check_output_dtype(node, DType::kF32));
  ITG_TRY(check_output_shape(node, node.input(0).shape));
  plan->kernel = static_cast<uint16_t>(softmax_f32_select(context.isa));
  return kNoError;
}

// Calls softmax(x, y, n) for each row. An element costs some ten times an addition.
template <typename T, typename Softmax>
void for_each_row(const NodeView& node, const NodeRun& run, Softmax softmax) {
  const Shape shape = node.input(0).shape;
  const int32_t n = shape.back(0);
  const auto* const x = run.input<T>(node, 0);
  auto* const y = run.output<T>(node);
  for_pieces(*run.executor, static_cast<int32_t>(shape.elements()) / n, int64_t{8} * n,
             [&](int32_t first, int32_t rows) {
               for (int32_t row = first; row < first + rows; ++row) {
                 const ptrdiff_t offset = static_cast<ptrdiff_t>(row) * n;
                 softmax(x + offset, y + offset, n);
               }
             });
}

void run_s8(const NodeView& node, const NodeRun& run) {
  const Quantization out = node.output().quantization;
  const OutputS8 output = make_output_s8(out.zero_point, -128, 127);
  const float reciprocal_scale = 1.0f / out.scales[0];
  const auto* const table = run.input<int32_t>(node, 1);
  SoftmaxS8* const softmax = softmax_s8_kernel(run.kernel).function;
  for_each_row<int8_t>(node, run, [&](const int8_t* x, int8_t* y, int32_t n) {
    softmax(x, table, reciprocal_scale, output, y, n);
  });
}

void run_s16(const NodeView& node, const NodeRun& run) {
  const float reciprocal_scale = 1.0f / node.output().quantization.scales[0];
  const auto* const table = run.input<int32_t>(node, 1);
  SoftmaxS16* const softmax = softmax_s16_kernel(run.kernel).function;
  for_each_row<int16_t>(
      node, run, [&](const int16_t* x, int16_t* y, int32_t n) { softmax(x, table, reciprocal_scale, y, n); });
}

void run_f32(const NodeView& node, const NodeRun& run) {
  for_each_row<float>(node, run, softmax_f32_kernel(run.kernel).function);
}

const char* kernel_name_s8(uint16_t kernel) { return softmax_s8_kernel(kernel).name; }
const char* kernel_name_s16(uint16_t kernel) { return softmax_s16_kernel(kernel).name; }
const char* kernel_name_f32(uint16_t kernel) { return softmax_f32_kernel(kernel).name; }

constexpr QuantRule quant_rule() {
  QuantRule rule;
  rule.output = OutputRule::kFixed;
  rule.sign = SignRule::kNonNegative;
  rule.fixed_scale = 1.0f / 256.0f;
  rule.fixed_zero_point = -128;
  rule.table = TableRule::kSoftmax;
  return rule;
}

}  // namespace

extern const OpRun kSoftmaxS8Run, kSoftmaxS16Run, kSoftmaxF32Run;
const OpRun kSoftmaxS8Run = {run_s8}, kSoftmaxS16Run = {run_s16}, kSoftmaxF32Run = {run_f32};

extern const OpDef kSoftmaxS8, kSoftmaxS16, kSoftmaxF32;
const OpDef kSoftmaxS8 = {Op::kSoftmax,   DType::kS8,    0, quant_rule(), plan_s8, nullptr,
                          &kSoftmaxS8Run, kernel_name_s8};
const OpDef kSoftmaxS16 = {Op::kSoftmax,    DType::kS16,    0, {}, plan_s16, nullptr,
                           &kSoftmaxS16Run, kernel_name_s16};
const OpDef kSoftmaxF32 = {Op::kSoftmax,    DType::kF32,    0, quant_rule(), plan_f32, nullptr,
                           &kSoftmaxF32Run, kernel_name_f32};

}  // namespace intaglio
