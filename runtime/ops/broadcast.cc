#include "runtime/ops/broadcast.h"

#include "runtime/ops/checks.h"

namespace intaglio {
namespace {

int32_t back_or_one(const Shape& shape, int32_t i) { return i < shape.rank ? shape.back(i) : 1; }

}  // namespace

Error check_broadcast_shapes(const NodeView& node) {
  const Shape a = node.input_shape(0), b = node.input_shape(1), y = node.output_shape();
  const int32_t rank = a.rank > b.rank ? a.rank : b.rank;
  for (int32_t i = 0; i < rank; ++i) {
    const int32_t p = back_or_one(a, i), q = back_or_one(b, i);
    if (p != q && p != 1 && q != 1) return node.input_error(Status::kShapeMismatch, 1, q, p);
    // Leading ones may be missing in the output, and more may stand there.
    const int32_t expected = p == 1 ? q : p, found = back_or_one(y, i);
    if (i >= y.rank && expected != 1) return node.output_error(Status::kBadRank, 0, y.rank, rank);
    if (found != expected) return node.output_error(Status::kShapeMismatch, 0, found, expected);
  }
  for (int32_t i = rank; i < y.rank; ++i)
    if (y.back(i) != 1) return node.output_error(Status::kShapeMismatch, 0, y.back(i), 1);
  return kNoError;
}

Error check_operands_s8(const NodeView& node) {
  ITG_TRY(check_counts(node, 2, 2));
  ITG_TRY(check_input_s8(node, 0));
  ITG_TRY(check_input_s8(node, 1));
  ITG_TRY(check_output_s8(node));
  ITG_TRY(check_clamp_codes(node));
  return check_broadcast_shapes(node);
}

Error check_operands_f32(const NodeView& node) {
  ITG_TRY(check_counts(node, 2, 2));
  ITG_TRY(check_input_dtype(node, 0, DType::kF32));
  ITG_TRY(check_input_dtype(node, 1, DType::kF32));
  ITG_TRY(check_output_dtype(node, DType::kF32));
  ITG_TRY(check_clamp_reals(node));
  return check_broadcast_shapes(node);
}

Broadcast make_broadcast(const Shape& a, const Shape& b, const Shape& y) {
  // Innermost first; turned round at the end.
  Broadcast t;
  int32_t a_step = 1, b_step = 1;
  for (int32_t i = 0; i < y.rank; ++i) {
    const int32_t dim = y.back(i), p = back_or_one(a, i), q = back_or_one(b, i);
    if (dim == 1) continue;
    const int32_t step_a = p == 1 ? 0 : a_step, step_b = q == 1 ? 0 : b_step;
    const int32_t last = t.rank - 1;
    const bool goes_on = t.rank > 0 &&
                         (t.a_steps[last] == 0 ? step_a == 0 : step_a == t.a_steps[last] * t.dims[last]) &&
                         (t.b_steps[last] == 0 ? step_b == 0 : step_b == t.b_steps[last] * t.dims[last]);
    if (goes_on) {
      t.dims[last] *= dim;
    } else {
      t.dims[t.rank] = dim;
      t.a_steps[t.rank] = step_a;
      t.b_steps[t.rank] = step_b;
      ++t.rank;
    }
    a_step *= p;
    b_step *= q;
  }
  if (t.rank == 0) {
    t.rank = 1;
    t.dims[0] = t.a_steps[0] = t.b_steps[0] = 1;
  }
  for (int32_t i = 0; i < t.rank / 2; ++i) {
    const int32_t j = t.rank - 1 - i;
    const auto swap = [i, j](int32_t* list) {
      const int32_t kept = list[i];
      list[i] = list[j];
      list[j] = kept;
    };
    swap(t.dims);
    swap(t.a_steps);
    swap(t.b_steps);
  }
  return t;
}

}  // namespace intaglio
