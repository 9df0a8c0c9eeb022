// Softmax over the last axis: the part that does not depend on the type of its elements.
#pragma once

#include "runtime/ops/checks.h"
#include "runtime/ops/split.h"

namespace intaglio {

inline constexpr int32_t kSoftmaxTableEntries = 256;

// A row's sum stays at most 2^30 and is not zero: the largest element adds table[0]. kFine entries of fractions of 2^30 stand
// behind it, the first of which is 1.
template <int32_t kFine>
static inline Error check_softmax_table(const NodeView& node) {
  constexpr int32_t kOne = 1 << 30;
  ITG_TRY(check_constant(node, 1, DType::kS32, kSoftmaxTableEntries + kFine));
  const auto* const table = reinterpret_cast<const int32_t*>(node.input(1).constant.data);
  const int32_t limit = kOne / node.input_shape(0).back(0);
  for (int32_t i = 0; i < kSoftmaxTableEntries; ++i)
    if (table[i] < (i == 0 ? 1 : 0) || table[i] > limit)
      return node.input_error(Status::kBadTable, 1, i, limit);
  for (int32_t i = kSoftmaxTableEntries; i < kSoftmaxTableEntries + kFine; ++i)
    if (table[i] < (i == kSoftmaxTableEntries ? kOne : 0) || table[i] > kOne)
      return node.input_error(Status::kBadTable, 1, i, kOne);
  return kNoError;
}

// Calls softmax(x, y, n) for each row. An element costs some ten times an addition.
template <typename T, typename Softmax>
static inline void for_each_softmax_row(const NodeView& node, const NodeRun& run, Softmax softmax) {
  const Shape shape = node.input_shape(0);
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

}  // namespace intaglio
