// Addition of two tensors of one shape, or of b repeated over the leading dimensions of a.
#include "kernels/eltwise_f32.h"
#include "kernels/eltwise_s8.h"
#include "runtime/add_params.h"
#include "runtime/ops/checks.h"
#include "runtime/ops/split.h"

namespace intaglio {
namespace {

// b's shape, without leading ones, is a suffix of a's.
Error check_shapes(const NodeView& node) {
  const Shape a = node.input(0).shape, b = node.input(1).shape;
  int32_t rank = b.rank;
  while (rank > 0 && b.back(rank - 1) == 1) --rank;
  if (rank > a.rank) return node.input_error(Status::kBadRank, 1, b.rank, a.rank);
  for (int32_t i = 0; i < rank; ++i)
    if (b.back(i) != a.back(i)) return node.input_error(Status::kShapeMismatch, 1, b.back(i), a.back(i));
  return check_output_shape(node, a);
}

bool make_params(const NodeView& node, AddS8* params) {
  const Quantization a = node.input(0).quantization, b = node.input(1).quantization;
  const Quantization y = node.output().quantization;
  const NodeOptions& o = node.info.options;
  return make_add_s8(a.scales[0], a.zero_point, b.scales[0], b.zero_point, y.scales[0], y.zero_point,
                     o.clamp_lo, o.clamp_hi, params);
}

Error plan_s8(const NodeView& node, const PlanContext&, NodePlan*) {
  ITG_TRY(check_counts(node, 2, 2));
  ITG_TRY(check_input_s8(node, 0));
  ITG_TRY(check_input_s8(node, 1));
  ITG_TRY(check_output_s8(node));
  ITG_TRY(check_clamp_codes(node));
  ITG_TRY(check_shapes(node));
  AddS8 params;
  return make_params(node, &params) ? kNoError : node.error(Status::kScaleRatio);
}

Error plan_f32(const NodeView& node, const PlanContext&, NodePlan*) {
  ITG_TRY(check_counts(node, 2, 2));
  ITG_TRY(check_input_dtype(node, 0, DType::kF32));
  ITG_TRY(check_input_dtype(node, 1, DType::kF32));
  ITG_TRY(check_output_dtype(node, DType::kF32));
  ITG_TRY(check_clamp_reals(node));
  return check_shapes(node);
}

// add_one(first, count) adds the one element of b; add_rows(first, b_first, rows, n) adds rows of n.
template <typename AddOne, typename AddRows>
void split(const NodeView& node, const NodeRun& run, AddOne add_one, AddRows add_rows) {
  const int64_t elements = node.output().shape.elements(), b_elements = node.input(1).shape.elements();
  if (b_elements == 1) {
    for_pieces(*run.executor, elements, kPieceWork, add_one);
  } else if (b_elements == elements) {
    for_pieces(*run.executor, elements, kPieceWork,
               [&](int32_t first, int32_t count) { add_rows(first, first, 1, count); });
  } else {
    const auto n = static_cast<int32_t>(b_elements);
    for_pieces(*run.executor, elements / n, kPieceWork / n,
               [&](int32_t first, int32_t rows) { add_rows(first * n, 0, rows, n); });
  }
}

void run_s8(const NodeView& node, const NodeRun& run) {
  AddS8 params;
  make_params(node, &params);
  const auto* const a = run.input<int8_t>(node, 0);
  const auto* const b = run.input<int8_t>(node, 1);
  auto* const y = run.output<int8_t>(node);
  split(
      node, run, [&](int32_t first, int32_t count) { add_code_s8(a + first, *b, y + first, count, params); },
      [&](int32_t first, int32_t b_first, int32_t rows, int32_t n) {
        add_rows_s8(a + first, b + b_first, y + first, rows, n, params);
      });
}

void run_f32(const NodeView& node, const NodeRun& run) {
  const ClampF32 clamp{node.info.options.clamp_min, node.info.options.clamp_max};
  const auto* const a = run.input<float>(node, 0);
  const auto* const b = run.input<float>(node, 1);
  auto* const y = run.output<float>(node);
  split(
      node, run, [&](int32_t first, int32_t count) { add_value_f32(a + first, *b, y + first, count, clamp); },
      [&](int32_t first, int32_t b_first, int32_t rows, int32_t n) {
        add_rows_f32(a + first, b + b_first, y + first, rows, n, clamp);
      });
}

constexpr QuantRule quant_rule() {
  QuantRule rule;
  rule.folds_residual = true;
  return rule;
}

}  // namespace

extern const OpDef kAddS8, kAddF32;
const OpDef kAddS8 = {Op::kAdd, DType::kS8, 0, quant_rule(), plan_s8, nullptr, run_s8, nullptr};
const OpDef kAddF32 = {Op::kAdd, DType::kF32, 0, quant_rule(), plan_f32, nullptr, run_f32, nullptr};

}  // namespace intaglio
