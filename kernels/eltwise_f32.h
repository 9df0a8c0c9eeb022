// Element by element, FP32. Each operation is one plain float operation; results are canonical.
//
//   add    y[r, i] = clamp(a[r, i] + b[r * b_step + i])
//   clamp  y[i] = clamp(x[i])
//
// y may stand exactly where a (clamp: x) stands; no other overlap is allowed.
#pragma once

#include "kernels/canonical_f32.h"

namespace intaglio {

// a and y are [rows, n]. b_step is n where b is [rows, n] too, and 0 where one row of b serves every row.
void add_rows_f32(const float* a, const float* b, float* y, int32_t rows, int32_t n, int32_t b_step,
                  const ClampF32& clamp);
// The same number b for every element.
void add_value_f32(const float* a, float b, float* y, int32_t n, const ClampF32& clamp);

void clamp_row_f32(const float* x, float* y, int32_t n, const ClampF32& clamp);

}  // namespace intaglio
