// A choice, element by element: of the second input where the first is not 0, else of the third. Each is repeated along axes that
// it lacks or has with size 1.
#include "kernels/eltwise/eltwise_f32.h"
#include "runtime/ops/checks.h"
#include "runtime/ops/split.h"

namespace intaglio {
namespace {

constexpr int32_t kOperands = 3;

int32_t back_or_one(const Shape& shape, int32_t i) { return i < shape.rank ? shape.back(i) : 1; }

Error plan(const NodeView& node, const PlanContext&, NodePlan*) {
  ITG_TRY(check_counts(node, kOperands, kOperands));
  for (int32_t i = 0; i < kOperands; ++i) ITG_TRY(check_input_dtype(node, i, DType::kF32));
  ITG_TRY(check_output_dtype(node, DType::kF32));
  const Shape y = node.output_shape();
  int32_t rank = 0;
  for (int32_t i = 0; i < kOperands; ++i)
    rank = node.input_shape(i).rank > rank ? node.input_shape(i).rank : rank;
  ITG_TRY(check_output_rank(node, rank));
  for (int32_t axis = 0; axis < rank; ++axis) {
    int32_t expected = 1;
    for (int32_t i = 0; i < kOperands; ++i) {
      const int32_t dim = back_or_one(node.input_shape(i), axis);
      if (dim != 1 && expected != 1 && dim != expected)
        return node.input_error(Status::kShapeMismatch, i, dim, expected);
      expected = dim == 1 ? expected : dim;
    }
    if (y.back(axis) != expected) return node.output_error(Status::kShapeMismatch, 0, y.back(axis), expected);
  }
  return kNoError;
}

// The walk over all operands, innermost axis first, with neighbouring axes merged.
struct Walk {
  int32_t rank = 0;
  int32_t dims[kMaxRank] = {};
  int32_t steps[kOperands][kMaxRank] = {};  // elements; 0: repeated
};

Walk make_walk(const NodeView& node) {
  Walk walk;
  const Shape y = node.output_shape();
  int32_t next[kOperands] = {1, 1, 1};
  for (int32_t axis = 0; axis < y.rank; ++axis) {
    const int32_t dim = y.back(axis);
    if (dim == 1) continue;
    int32_t steps[kOperands];
    const int32_t last = walk.rank - 1;
    bool goes_on = walk.rank > 0;
    for (int32_t i = 0; i < kOperands; ++i) {
      const int32_t own = back_or_one(node.input_shape(i), axis);
      steps[i] = own == 1 ? 0 : next[i];
      next[i] *= own;
      goes_on = goes_on && steps[i] == walk.steps[i][last] * walk.dims[last];
    }
    if (goes_on) {
      walk.dims[last] *= dim;
      continue;
    }
    walk.dims[walk.rank] = dim;
    for (int32_t i = 0; i < kOperands; ++i) walk.steps[i][walk.rank] = steps[i];
    ++walk.rank;
  }
  if (walk.rank == 0) walk.rank = walk.dims[0] = 1;
  return walk;
}

void run(const NodeView& node, const NodeRun& run) {
  const Walk walk = make_walk(node);
  const auto* const condition = run.input<float>(node, 0);
  const auto* const a = run.input<float>(node, 1);
  const auto* const b = run.input<float>(node, 2);
  auto* const y = run.output<float>(node);
  const int32_t n = walk.dims[0];
  const WhereSteps steps = {walk.steps[0][0], walk.steps[1][0], walk.steps[2][0]};
  for_pieces(*run.executor, node.output_shape().elements() / n, n, [&](int32_t first, int32_t count) {
    for (int32_t row = first; row < first + count; ++row) {
      ptrdiff_t offsets[kOperands] = {};
      int32_t index = row;
      for (int32_t axis = 1; axis < walk.rank; ++axis) {
        const int32_t at = index % walk.dims[axis];
        index /= walk.dims[axis];
        for (int32_t i = 0; i < kOperands; ++i)
          offsets[i] += static_cast<ptrdiff_t>(at) * walk.steps[i][axis];
      }
      where_row_f32(condition + offsets[0], a + offsets[1], b + offsets[2],
                    y + static_cast<ptrdiff_t>(row) * n, n, steps);
    }
  });
}

}  // namespace

extern const OpRun kWhereF32Run;
const OpRun kWhereF32Run = {run};

extern const OpDef kWhereF32;
const OpDef kWhereF32 = {Op::kWhere, DType::kF32, -1, {}, plan, nullptr, &kWhereF32Run, nullptr};

}  // namespace intaglio
