// Element by element, FP32. Each operation is one plain float operation; finish() clamps and leaves NaN, as
// output_f32.h says.
//
//   add       y[r, i] = finish(a[r, i] + b[i])
//   sub       y[r, i] = finish(a[r, i] - b[i]);  sub_from: finish(b[i] - a[r, i])
//   mul       y[r, i] = finish(a[r, i] * b[i])
//   prelu     y[r, i] = finish(a[r, i] > 0 ? a[r, i] : b[i] * a[r, i])
//   clamp     y[i] = finish(x[i])
//
// y may be a (clamp: x) itself; no other overlap is allowed.
#pragma once

#include "intaglio/isa.h"
#include "kernels/arithmetic/output_f32.h"

namespace intaglio {

// a and y are [rows, n]; one row of b serves every row.
using RowsF32 = void(const float* a, const float* b, float* y, int32_t rows, int32_t n,
                     const ClampF32& clamp);

// The two that networks are full of.
struct EltwiseF32Kernel {
  const char* name;
  IsaMask isa;
  RowsF32 *add_rows, *mul_rows;  // nullptr where this build has not compiled them
};

// Best first. The scalar kernel is the last one.
int32_t eltwise_f32_count();
const EltwiseF32Kernel& eltwise_f32_kernel(int32_t index);
// The first that `isa` allows, compiled or not: here pass cpu_isa() & kCompiledIsa.
int32_t eltwise_f32_select(IsaMask isa);

// In a table of its own, for programs that only add. Count, order and choice as above.
struct PreluF32Kernel {
  const char* name;
  IsaMask isa;
  RowsF32* rows;  // b: a slope a column
};
int32_t prelu_f32_count();
const PreluF32Kernel& prelu_f32_kernel(int32_t index);
int32_t prelu_f32_select(IsaMask isa);

// The others, alike.
void sub_rows_f32(const float* a, const float* b, float* y, int32_t rows, int32_t n, const ClampF32& clamp);
void sub_from_rows_f32(const float* a, const float* b, float* y, int32_t rows, int32_t n,
                       const ClampF32& clamp);
void div_rows_f32(const float* a, const float* b, float* y, int32_t rows, int32_t n, const ClampF32& clamp);
void div_from_rows_f32(const float* a, const float* b, float* y, int32_t rows, int32_t n,
                       const ClampF32& clamp);
// The larger or smaller of two; NaN where one of them is.
void max_rows_f32(const float* a, const float* b, float* y, int32_t rows, int32_t n, const ClampF32& clamp);
void min_rows_f32(const float* a, const float* b, float* y, int32_t rows, int32_t n, const ClampF32& clamp);
// The same number b for every element; a - b is add_value_f32 with -b.
void add_value_f32(const float* a, float b, float* y, int32_t n, const ClampF32& clamp);
void sub_from_value_f32(const float* a, float b, float* y, int32_t n, const ClampF32& clamp);
void mul_value_f32(const float* a, float b, float* y, int32_t n, const ClampF32& clamp);

void clamp_row_f32(const float* x, float* y, int32_t n, const ClampF32& clamp);

// Comparisons element by element, FP32, and the choice between two tensors. What is true is 1, what is not is 0; with NaN nothing
// is true.
//
//   equal       y[r, i] = a[r, i] == b[i]
//   less        y[r, i] = a[r, i] < b[i];   less_from: b[i] < a[r, i]
//   less_equal  y[r, i] = a[r, i] <= b[i];  less_equal_from: b[i] <= a[r, i]
//   where       y[i] = condition[i * steps.condition] != 0 ? a[i * steps.a] : b[i * steps.b], canonical
//
// a and y are [rows, n]; one row of b serves every row. y may be a itself; no other overlap is allowed, and none with where.

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
