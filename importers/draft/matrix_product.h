// Products of matrices as drafts have them: with constant weights a FullyConnected, else a BatchMatMul.
#pragma once

#include "importers/draft/draft.h"

namespace intaglio::importers {

// y [..., m, n] = a [..., m, k] times b [..., k, n], or [..., n, k] with transpose_b, both FP32 and of rank 2 or more; axes
// before these repeat where one operand has 1, or none. Both may be constants of the draft. Throws where the shapes do not
// fit each other.
int32_t add_matrix_product(const Origin& at, int32_t a, int32_t b, bool transpose_b);
// x, whose last two axes change places: a constant, or an activation.
int32_t add_swapped(const Origin& at, int32_t x);

// A constant as an activation, which a run copies: for operators that take none.
int32_t add_copied_constant(const Origin& at, int32_t constant);

// A product as Einsum says it: "bhqd,bhkd->bhqk". Each letter is an axis; one that both operands and the result have repeats
// the product, one that the result lacks is summed over. Throws where the equation is none of two operands without a
// diagonal, or does not fit them.
int32_t add_einsum(const Origin& at, const std::string& equation, int32_t a, int32_t b);

// y[..., i, ...] = the sum of x[..., j, ...] over j <= i along one axis; without x[i] itself (exclusive), over j >= i (reverse).
// A product with a triangle of ones.
int32_t add_cumulative_sum(const Origin& at, int32_t x, int32_t axis, bool exclusive, bool reverse);

}  // namespace intaglio::importers
