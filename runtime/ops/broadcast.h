// Two operands of one elementwise operation: axes are aligned at the last one, and an operand is repeated
// along every axis that it lacks or has with size 1.
#pragma once

#include "runtime/op.h"
#include "runtime/ops/split.h"

namespace intaglio {

// Two inputs and an output of the type, with a clamp, and the output has the operands' broadcast shape.
Error check_operands_s8(const NodeView& node);
Error check_operands_f32(const NodeView& node);
// The last of these alone.
Error check_broadcast_shapes(const NodeView& node);

// The walk over both operands, with neighbouring axes merged. The innermost axis is a row.
struct Broadcast {
  int32_t rank = 0;  // 1 to kMaxRank
  int32_t dims[kMaxRank] = {};
  int32_t a_steps[kMaxRank] = {};  // elements; 0: repeated. In a row 1 or 0, and not 0 for both
  int32_t b_steps[kMaxRank] = {};
};

Broadcast make_broadcast(const Shape& a, const Shape& b, const Shape& y);

// A piece of work: `rows` rows of `n` elements of the larger operand and of y, side by side, and one row, or
// one element, of the smaller operand for all of them.
struct BroadcastRun {
  ptrdiff_t large, small, y;  // offsets, elements
  int32_t rows, n;
  bool one;      // the smaller operand is one element
  bool swapped;  // the larger operand is b
};

// Calls body(run) until everything is covered.
template <typename Body>
void for_each_run(const Broadcast& t, const Executor& executor, Body body) {
  const int32_t row_axis = t.rank - 1;
  const int32_t n = t.dims[row_axis];
  const bool one = t.a_steps[row_axis] == 0 || t.b_steps[row_axis] == 0;
  bool swapped = t.a_steps[row_axis] == 0;
  // Rows that share the smaller operand's row: one axis more, where the other operand goes on without a gap.
  int32_t outer = row_axis, rows = 1;
  if (!one && row_axis > 0) {
    const int32_t axis = row_axis - 1, a = t.a_steps[axis], b = t.b_steps[axis];
    if ((a == n && b == 0) || (a == 0 && b == n)) {
      swapped = a == 0;
      rows = t.dims[axis];
      outer = axis;
    }
  }
  int32_t all_rows = rows;  // of a tensor: below 2^31
  for (int32_t i = 0; i < outer; ++i) all_rows *= t.dims[i];
  const auto offsets = [&t, outer](int32_t index, ptrdiff_t* a, ptrdiff_t* b) {
    *a = *b = 0;
    for (int32_t i = outer - 1; i >= 0; --i) {
      const auto at = static_cast<ptrdiff_t>(index % t.dims[i]);
      index /= t.dims[i];
      *a += at * t.a_steps[i];
      *b += at * t.b_steps[i];
    }
  };
  if (all_rows == 1) {
    for_pieces(executor, n, 1, [&](int32_t first, int32_t count) {
      body(BroadcastRun{first, one ? 0 : first, first, 1, count, one, swapped});
    });
    return;
  }
  for_pieces(executor, all_rows, n, [&](int32_t first, int32_t count) {
    const int32_t last = first + count;
    for (int32_t row = first; row < last;) {
      const int32_t within = row % rows;
      const int32_t some = rows - within < last - row ? rows - within : last - row;
      ptrdiff_t a, b;
      offsets(row / rows, &a, &b);
      const ptrdiff_t ahead = static_cast<ptrdiff_t>(within) * n;
      body(BroadcastRun{(swapped ? b : a) + ahead, swapped ? a : b, static_cast<ptrdiff_t>(row) * n, some, n,
                        one, swapped});
      row += some;
    }
  });
}

// The same on a node's own tensors: calls one(large, element, y, n, swapped) or
// rows(large, row, y, rows, n, swapped).
template <typename T, typename One, typename Rows>
void for_each_operands(const NodeView& node, const NodeRun& run, One one, Rows rows) {
  const auto* const a = run.input<T>(node, 0);
  const auto* const b = run.input<T>(node, 1);
  auto* const y = run.output<T>(node);
  const Broadcast walk = make_broadcast(node.input_shape(0), node.input_shape(1), node.output_shape());
  for_each_run(walk, *run.executor, [&](const BroadcastRun& r) {
    const T* const large = (r.swapped ? b : a) + r.large;
    const T* const small = (r.swapped ? a : b) + r.small;
    if (r.one) return one(large, *small, y + r.y, r.rows * r.n, r.swapped);
    rows(large, small, y + r.y, r.rows, r.n, r.swapped);
  });
}

// For kernels that know no single element: it is a row of one.
template <typename T, typename Rows>
void for_each_operand_rows(const NodeView& node, const NodeRun& run, Rows rows) {
  for_each_operands<T>(
      node, run,
      [&](const T* large, T one, T* y, int32_t n, bool swapped) { rows(large, &one, y, n, 1, swapped); },
      rows);
}

}  // namespace intaglio
