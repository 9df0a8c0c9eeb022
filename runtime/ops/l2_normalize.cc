// Rows of the last axis divided by their Euclidean norm, which counts as `min_norm` where it is less.
#include <cfloat>

#include "kernels/normalize/normalize_groups.h"
#include "runtime/ops/checks.h"
#include "runtime/ops/split.h"

namespace intaglio {
namespace {

constexpr int64_t kMaxTerms = INT32_MAX / (255 * 255);

Error check_epsilon(const NodeView& node) {
  const float least = node.options<L2NormalizeOptions>().min_norm;
  return least >= 0.0f && least <= FLT_MAX ? kNoError : node.error(Status::kBadAttribute, 0);
}

Error plan_s8(const NodeView& node, const PlanContext&, NodePlan*) {
  ITG_TRY(check_counts(node, 1, 1));
  ITG_TRY(check_input_s8(node, 0));
  ITG_TRY(check_output_s8(node));
  ITG_TRY(check_output_shape(node, node.input_shape(0)));
  ITG_TRY(check_epsilon(node));
  const int32_t n = node.input_shape(0).back(0);
  return n > kMaxTerms ? node.error(Status::kAccumulatorOverflow, 0, kMaxTerms) : kNoError;
}

Error plan_f32(const NodeView& node, const PlanContext&, NodePlan*) {
  ITG_TRY(check_counts(node, 1, 1));
  ITG_TRY(check_input_dtype(node, 0, DType::kF32));
  ITG_TRY(check_output_dtype(node, DType::kF32));
  ITG_TRY(check_output_shape(node, node.input_shape(0)));
  return check_epsilon(node);
}

// Calls normalize(x, y, rows, n) for pieces of the rows.
template <typename T, typename Normalize>
void for_rows(const NodeView& node, const NodeRun& run, Normalize normalize) {
  const Shape shape = node.input_shape(0);
  const int32_t n = shape.back(0);
  const auto* const x = run.input<T>(node, 0);
  auto* const y = run.output<T>(node);
  for_pieces(*run.executor, shape.elements() / n, int64_t{4} * n, [&](int32_t first, int32_t rows) {
    const ptrdiff_t offset = static_cast<ptrdiff_t>(first) * n;
    normalize(x + offset, y + offset, rows, n);
  });
}

void run_s8(const NodeView& node, const NodeRun& run) {
  const Quantization in = node.input(0).quantization, out = node.output().quantization;
  const L2NormalizeS8 params = {in.zero_point, node.options<L2NormalizeOptions>().min_norm / in.scales[0],
                                out.scales[0], make_output_s8(out.zero_point, -128, 127)};
  for_rows<int8_t>(node, run, [&](const int8_t* x, int8_t* y, int32_t rows, int32_t n) {
    l2_normalize_s8(x, y, rows, n, params);
  });
}

void run_f32(const NodeView& node, const NodeRun& run) {
  const float min_norm = node.options<L2NormalizeOptions>().min_norm;
  const int32_t block = sum_block(node);
  for_rows<float>(node, run, [&](const float* x, float* y, int32_t rows, int32_t n) {
    l2_normalize_f32(x, y, rows, n, min_norm, block);
  });
}

constexpr QuantRule quant_rule() {
  QuantRule rule;
  rule.output = OutputRule::kFixed;
  rule.fixed_scale = 1.0f / 128.0f;
  rule.normalizes = true;
  return rule;
}

}  // namespace

extern const OpRun kL2NormalizeS8Run, kL2NormalizeF32Run;
const OpRun kL2NormalizeS8Run = {run_s8}, kL2NormalizeF32Run = {run_f32};

extern const OpDef kL2NormalizeS8, kL2NormalizeF32;
const OpDef kL2NormalizeS8 = {Op::kL2Normalize, DType::kS8,         0,      quant_rule(), plan_s8,
                              nullptr,          &kL2NormalizeS8Run, nullptr};
const OpDef kL2NormalizeF32 = {Op::kL2Normalize, DType::kF32,         0,      quant_rule(), plan_f32,
                               nullptr,          &kL2NormalizeF32Run, nullptr};

}  // namespace intaglio
