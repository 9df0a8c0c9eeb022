// The products of gemm_s8_avx512vnni.cc and gemm_s8_f32_avx512vnni.cc.
//
// vpdpbusd multiplies unsigned by signed bytes: rows are read as x + 128, their top bits flipped where four
// bytes are spread over a vector. That is one instruction either way, and costs half a percent; a copy of the
// rows, or sums of them, cost more. A tile holds up to 7 x 64, 14 x 32 or 14 x 16 sums in registers: with
// fewer than 12 rows, one vector of weights a row does not keep the multipliers busy.
#pragma once

#include <immintrin.h>

#include "kernels/gemm/gemm_s8.h"

namespace intaglio {
namespace {

constexpr int32_t kMr = 56, kNr = 64, kLanes = 16;

struct Tile {
  const int8_t* const* rows;
  // Distances of a tap's rows from the tap before: in the table, or, behind those of the first tap, at *step. A strip's
  // are in the table.
  ptrdiff_t next_rows, next_step;
  const ptrdiff_t* offsets;
  const int8_t* panel;  // biases, multipliers, weights
  int8_t* output;
  size_t output_stride;
  int32_t taps, k;
  const int8_t* zero_row;  // GemmS8Args
};

// gcc would copy every sum around the intrinsic.
inline void dot(__m512i& acc, __m512i x, __m512i w) {
  __asm__("vpdpbusd %2, %1, %0" : "+v"(acc) : "v"(x), "v"(w));
}
inline void dot_memory(__m512i& acc, __m512i x, const int8_t* w) {
  __asm__("vpdpbusd %2, %1, %0" : "+v"(acc) : "v"(x), "m"(*reinterpret_cast<const __m512i*>(w)));
}

// Four bytes everywhere, their top bits flipped.
inline __m512i spread(const int8_t* x) {
  int32_t quad;
  memcpy(&quad, x, sizeof quad);
  return _mm512_xor_si512(_mm512_set1_epi32(quad), _mm512_set1_epi8(-128));
}

// By itself: gcc would collect addresses in vectors, or load them by way of one.
inline const int8_t* address(const int8_t* const* x) {
  const int8_t* row;
  __asm__("mov %1, %0" : "=r"(row) : "m"(*x));
  return row;
}

// With all four vectors of weights 7 rows would not fit the registers.
constexpr int32_t held_columns(int32_t rows, int32_t vectors) {
  return rows * vectors + vectors + 2 <= 32 ? vectors : vectors - 2;
}

// Four depths of one row.
template <int32_t V, int32_t Held>
__attribute__((always_inline)) inline void dot_row(__m512i* acc, __m512i row, const __m512i* columns,
                                                   const int8_t* w) {
#pragma GCC unroll 4
  for (int32_t v = 0; v < V; ++v) {
    if (v < Held) {
      dot(acc[v], row, columns[v]);
    } else {
      dot_memory(acc[v], row, w + 64 * v);
    }
  }
}

// The rest of each row after `depth` bytes, as a row of four.
__attribute__((noinline)) void last_quads(const int8_t** rows, int32_t count, ptrdiff_t depth, int32_t rest,
                                          int32_t* last) {
  const auto bytes = static_cast<__mmask16>((1 << rest) - 1);
  for (int32_t r = 0; r < count; ++r) {
    last[r] = _mm_cvtsi128_si32(_mm_maskz_loadu_epi8(bytes, rows[r] + depth));
    rows[r] = reinterpret_cast<const int8_t*>(last + r);
  }
}

// acc = the sums of M rows of 16 V columns.
template <int32_t M, int32_t V>
__attribute__((always_inline)) inline void sum_tile(const Tile& t, __m512i (&acc)[M][V]) {
#pragma GCC unroll 4
  for (int32_t v = 0; v < V; ++v) acc[0][v] = _mm512_loadu_si512(t.panel + 64 * v);
#pragma GCC unroll 14
  for (int32_t r = 1; r < M; ++r)
#pragma GCC unroll 4
    for (int32_t v = 0; v < V; ++v) acc[r][v] = acc[0][v];

  const int8_t* w = t.panel + 2 * 64 * V;
  const int8_t* const* rows = t.rows;
  const ptrdiff_t* step = t.offsets;
  int32_t last[M];
  const int32_t rest = t.k & 3;
  for (int32_t taps = t.taps; taps > 0; --taps) {
    const int8_t* few[M];  // more are read one by one
    if (M <= 7) {
#pragma GCC unroll 14
      for (int32_t r = 0; r < M; ++r) few[r] = address(rows + r);
    }
    const int8_t* const* x = M <= 7 ? few : rows;
    ptrdiff_t i = *step, depth = i + t.k - rest;
    for (bool more = rest != 0;; more = false) {
      for (; i < depth; i += 4) {
        constexpr int32_t kHeld = held_columns(M, V);
        __m512i columns[V];
#pragma GCC unroll 4
        for (int32_t v = 0; v < kHeld; ++v) columns[v] = _mm512_loadu_si512(w + 64 * v);
#pragma GCC unroll 14
        for (int32_t r = 0; r < M; ++r)
          dot_row<V, kHeld>(acc[r], spread((M > 7 ? address(x + r) : x[r]) + i), columns, w);
        w += 64 * V;
      }
      if (!more) break;
      for (int32_t r = 0; r < M; ++r) few[r] = x[r];
      last_quads(few, M, depth, rest, last);
      x = few;
      i = 0;
      depth = 4;
    }
    rows += t.next_rows;
    step += t.next_step;
  }
}

}  // namespace
}  // namespace intaglio
