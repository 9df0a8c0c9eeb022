// Element by element, int8.
//
//   add, sub  y[r, i] = add_s8(a[r, i], b[i])      in integers, see requant.h; sub has a negative multiplier
//   mul       y[r, i] = mul_s8(a[r, i], b[i])      the exact product, requantized
//   lookup    y[i] = table[x[i] + 128]             every unary function
//   lookup    y[r, i] = tables[i, x[r, i] + 128]   a function of its own for each column
//
// y may stand exactly where a (lookup: x) stands; no other overlap is allowed.
#pragma once

#include "kernels/requant.h"

namespace intaglio {

// a and y are [rows, n]; one row of b serves every row.
void add_rows_s8(const int8_t* a, const int8_t* b, int8_t* y, int32_t rows, int32_t n, const AddS8& params);
// The same code b for every element.
void add_code_s8(const int8_t* a, int8_t b, int8_t* y, int32_t n, const AddS8& params);

// multiplier = f32(f32(s_a * s_b) / s_out)
struct MulS8 {
  int32_t a_zero_point, b_zero_point;
  float multiplier;
  OutputS8 output;
};

static inline int8_t mul_s8(int32_t a, int32_t b, const MulS8& p) {
  return requantize_s8((a - p.a_zero_point) * (b - p.b_zero_point), p.multiplier, p.output);
}

void mul_rows_s8(const int8_t* a, const int8_t* b, int8_t* y, int32_t rows, int32_t n, const MulS8& params);
void mul_code_s8(const int8_t* a, int8_t b, int8_t* y, int32_t n, const MulS8& params);

void lookup_s8(const int8_t* x, const int8_t* table, int8_t* y, int32_t n);
// x and y are [rows, n], tables [n, 256].
void lookup_rows_s8(const int8_t* x, const int8_t* tables, int8_t* y, int32_t rows, int32_t n);

}  // namespace intaglio
