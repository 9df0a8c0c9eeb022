// Parts that products of two activations share, in codes and in reals (batch_mat_mul.cc, batch_mat_mul_s16.cc).
#pragma once

#include "runtime/ops/checks.h"

namespace intaglio {

struct Product {
  int32_t batches, m, n, k;
  bool transposed;  // b is [n, k]
  bool one_matrix;  // b is the same for all batches, which are one then, with all rows of a
};

Product product_of(const NodeView& node);
// Shapes and the factor.
Error check_matrices(const NodeView& node);
// Requantizes the exact sum of a product of codes.
float product_multiplier(const NodeView& node);
// The most memory that the versions for codes take, whatever the zero points.
Error size_batch_mat_mul_s8(const NodeView& node, const PlanContext& context, NodePlan* plan);
Error size_batch_mat_mul_s16(const NodeView& node, const PlanContext& context, NodePlan* plan);
// Where the matrix of a batch begins, in matrices of this operand.
int32_t matrix_of(int32_t batch, const Shape& y, const Shape& operand);

inline int64_t aligned_scratch(int64_t bytes) { return (bytes + 63) & ~int64_t{63}; }

}  // namespace intaglio
