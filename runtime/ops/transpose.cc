// Output axis i is input axis permutation[i].
#include "kernels/copy/strided_copy.h"
#include "runtime/ops/checks.h"
#include "runtime/ops/split.h"

namespace intaglio {
namespace {

Error check_permutation(const NodeView& node) {
  const Shape in = node.input_shape(0);
  const Span<const int32_t> axes = node.options<TransposeOptions>().permutation;
  if (axes.size != static_cast<size_t>(in.rank))
    return node.error(Status::kBadRank, static_cast<int64_t>(axes.size), in.rank);
  ITG_TRY(check_output_rank(node, in.rank));
  const Shape out = node.output_shape();
  uint32_t seen = 0;
  for (int32_t i = 0; i < in.rank; ++i) {
    const int32_t axis = axes[static_cast<size_t>(i)];
    if (axis < 0 || axis >= in.rank || (seen >> axis & 1u) != 0)
      return node.error(Status::kBadAxis, axis, in.rank);
    seen |= 1u << axis;
    if (out[i] != in[axis]) return node.output_error(Status::kShapeMismatch, 0, out[i], in[axis]);
  }
  return kNoError;
}

Error plan_s8(const NodeView& node, const PlanContext&, NodePlan*) {
  ITG_TRY(check_counts(node, 1, 1));
  ITG_TRY(check_input_s8(node, 0));
  ITG_TRY(check_output_s8(node));
  ITG_TRY(check_same_quantization(node));
  return check_permutation(node);
}

Error plan_s16(const NodeView& node, const PlanContext&, NodePlan*) {
  ITG_TRY(check_move_s16(node));
  return check_permutation(node);
}

// FP32 or s32.
Error plan_plain(const NodeView& node, DType dtype) {
  ITG_TRY(check_counts(node, 1, 1));
  ITG_TRY(check_input_dtype(node, 0, dtype));
  ITG_TRY(check_output_dtype(node, dtype));
  return check_permutation(node);
}
Error plan_f32(const NodeView& node, const PlanContext&, NodePlan*) { return plan_plain(node, DType::kF32); }
Error plan_s32(const NodeView& node, const PlanContext&, NodePlan*) { return plan_plain(node, DType::kS32); }

// Elements are moved as unsigned integers of their size.
template <typename T, typename Permute>
void run_permutation(const NodeView& node, const NodeRun& run, Permute permute) {
  const Shape in = node.input_shape(0);
  const Permutation permutation =
      make_permutation(in.dims, node.options<TransposeOptions>().permutation.data, in.rank);
  const auto* const x = run.input<T>(node, 0);
  auto* const y = run.output<T>(node);
  const int32_t slices = permutation.dims[0];
  for_pieces(*run.executor, slices, in.elements() / slices,
             [&](int32_t first, int32_t count) { permute(permutation, x, y, first, first + count); });
}

void run_s8(const NodeView& node, const NodeRun& run) { run_permutation<uint8_t>(node, run, permute_8); }
void run_s16(const NodeView& node, const NodeRun& run) { run_permutation<uint16_t>(node, run, permute_16); }
void run_plain(const NodeView& node, const NodeRun& run) { run_permutation<uint32_t>(node, run, permute_32); }

constexpr QuantRule quant_rule() {
  QuantRule rule;
  rule.output = OutputRule::kSameAsInput;
  rule.sign = SignRule::kKeeps;
  return rule;
}

}  // namespace

extern const OpRun kTransposeS8Run, kTransposeS16Run, kTransposeF32Run, kTransposeS32Run;
const OpRun kTransposeS8Run = {run_s8}, kTransposeS16Run = {run_s16}, kTransposeF32Run = {run_plain},
            kTransposeS32Run = {run_plain};

extern const OpDef kTransposeS8, kTransposeS16, kTransposeF32, kTransposeS32;
const OpDef kTransposeS32 = {Op::kTranspose, DType::kS32,       -1,     quant_rule(), plan_s32,
                             nullptr,        &kTransposeS32Run, nullptr};
const OpDef kTransposeS8 = {Op::kTranspose, DType::kS8,       -1,     quant_rule(), plan_s8,
                            nullptr,        &kTransposeS8Run, nullptr};
const OpDef kTransposeS16 = {Op::kTranspose, DType::kS16,       -1,     quant_rule(), plan_s16,
                             nullptr,        &kTransposeS16Run, nullptr};
const OpDef kTransposeF32 = {Op::kTranspose, DType::kF32,       -1,     quant_rule(), plan_f32,
                             nullptr,        &kTransposeF32Run, nullptr};

}  // namespace intaglio
