// Element by element, int8.
//
//   add, sub  y[r, i] = add_s8(a[r, i], b[i])      in integers, see requant.h; sub has a negative multiplier
//   mul       y[r, i] = mul_s8(a[r, i], b[i])      the exact product, requantized
//   div       y[r, i] = div_s8(a[r, i], b[i])      the quotient, rounded to float, then as requant.h
//   max, min  y[r, i] = a code of a or of b, clamped
//   lookup    y[i] = table[x[i] + 128]             every unary function
//   lookup    y[r, i] = tables[i, x[r, i] + 128]   a function of its own for each column
//
// y may be a (lookup: x) itself; no other overlap is allowed.
#pragma once

#include <cstddef>
#include <cstdint>

#include "intaglio/isa.h"
#include "kernels/arithmetic/requant.h"

namespace intaglio {

// multiplier = f32(f32(s_a * s_b) / s_out)
struct MulS8 {
  int32_t a_zero_point, b_zero_point;
  float multiplier;
  OutputS8 output;
};

static inline int8_t mul_s8(int32_t a, int32_t b, const MulS8& p) {
  return requantize_s8((a - p.a_zero_point) * (b - p.b_zero_point), p.multiplier, p.output);
}

// multiplier = f32(s_a / f32(s_b * s_out))
struct DivS8 {
  int32_t a_zero_point, b_zero_point;
  float multiplier;
  OutputS8 output;
};

// A divisor of 0 gives an end of the output's range, by the sign of the dividend; 0 / 0 gives 0.
static inline int8_t div_s8(int32_t a, int32_t b, const DivS8& p) {
  const auto dividend = static_cast<float>(a - p.a_zero_point),
             divisor = static_cast<float>(b - p.b_zero_point);
  const float quotient = dividend == 0.0f ? 0.0f : dividend / divisor;
  return clamp_and_round_s8(quotient * p.multiplier, p.output);
}

// Rows: a and y are [rows, n], and one row of b serves every row. Code: the same code b for every element.
// A function is nullptr where this build has not compiled it.
struct EltwiseS8Kernel {
  const char* name;
  IsaMask isa;
  void (*add_rows)(const int8_t* a, const int8_t* b, int8_t* y, int32_t rows, int32_t n, const AddS8& params);
  void (*add_code)(const int8_t* a, int8_t b, int8_t* y, int32_t n, const AddS8& params);
  void (*mul_rows)(const int8_t* a, const int8_t* b, int8_t* y, int32_t rows, int32_t n, const MulS8& params);
  void (*mul_code)(const int8_t* a, int8_t b, int8_t* y, int32_t n, const MulS8& params);
  void (*lookup)(const int8_t* x, const int8_t* table, int8_t* y, int32_t n);
};

// Best first. The scalar kernel is the last one.
int32_t eltwise_s8_count();
const EltwiseS8Kernel& eltwise_s8_kernel(int32_t index);
// The first that `isa` allows, compiled or not: here pass cpu_isa() & kCompiledIsa.
int32_t eltwise_s8_select(IsaMask isa);

// As the rows above, for every machine; from: b[i] / a[r, i].
void div_rows_s8(const int8_t* a, const int8_t* b, int8_t* y, int32_t rows, int32_t n, const DivS8& params);
void div_from_rows_s8(const int8_t* a, const int8_t* b, int8_t* y, int32_t rows, int32_t n,
                      const DivS8& params);
// Clamped to codes [lo, hi].
void max_rows_s8(const int8_t* a, const int8_t* b, int8_t* y, int32_t rows, int32_t n, int8_t lo, int8_t hi);
void min_rows_s8(const int8_t* a, const int8_t* b, int8_t* y, int32_t rows, int32_t n, int8_t lo, int8_t hi);

// x and y are [rows, n], tables [n, 256].
void lookup_rows_s8(const int8_t* x, const int8_t* tables, int8_t* y, int32_t rows, int32_t n);

// A function of its own for each group of columns.
//
//   y[r, i] = tables[groups[i], x[r, i] + 128]
//
// x and y [rows, n]; tables [count, 256]; groups [n], each in [0, count). y may be x itself; no other overlap is allowed.

inline constexpr int32_t kMostGroupsS8 = 16;

struct GroupedLookupS8 {
  const int8_t* x;
  const int8_t* tables;
  const int8_t* groups;
  int8_t* y;
  int32_t rows, n, count;
};

// A function is nullptr where this build has not compiled it.
struct GroupedLookupS8Kernel {
  const char* name;
  IsaMask isa;
  void (*lookup)(const GroupedLookupS8& work);
};

// Best first. The scalar kernel is the last one.
int32_t grouped_lookup_s8_count();
const GroupedLookupS8Kernel& grouped_lookup_s8_kernel(int32_t index);
// The first that `isa` allows, compiled or not: here pass cpu_isa() & kCompiledIsa.
int32_t grouped_lookup_s8_select(IsaMask isa);

}  // namespace intaglio
