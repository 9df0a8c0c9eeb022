// Comparisons element by element, FP32, and the choice between two tensors. What is true is 1, what is not is 0; with NaN nothing
// is true.
//
//   equal       y[r, i] = a[r, i] == b[i]
//   less        y[r, i] = a[r, i] < b[i];   less_from: b[i] < a[r, i]
//   less_equal  y[r, i] = a[r, i] <= b[i];  less_equal_from: b[i] <= a[r, i]
//   where       y[i] = condition[i * steps.condition] != 0 ? a[i * steps.a] : b[i * steps.b], canonical
//
// a and y are [rows, n]; one row of b serves every row. y may be a itself; no other overlap is allowed, and none with where.
#pragma once

#include "kernels/arithmetic/canonical_f32.h"

namespace intaglio {

using CompareRowsF32 = void(const float* a, const float* b, float* y, int32_t rows, int32_t n);

CompareRowsF32 equal_rows_f32, less_rows_f32, less_from_rows_f32, less_equal_rows_f32,
    less_equal_from_rows_f32;

// 1, or 0 where one element serves all.
struct WhereSteps {
  int32_t condition, a, b;
};

void where_row_f32(const float* condition, const float* a, const float* b, float* y, int32_t n,
                   WhereSteps steps);

}  // namespace intaglio
