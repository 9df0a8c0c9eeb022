// How gemm_s8_avx512vnni.cc makes codes of its tiles, and strips of them.
#pragma once

#include "kernels/gemm/gemm_s8_avx512_tile.h"

namespace intaglio {
namespace {

// How a tile becomes codes, see requant.h.
struct Output {
  __m512i order;       // of the packs, as dwords
  __m512i zero_point;  // int16
  __m512i lowest, highest;
  bool clamps;            // beyond what int8 does
  bool least_zero_point;  // an instruction less; where nothing is negative, as behind ReLU
  float highest_product;  // before the zero point
};

inline __mmask64 first_bytes(int32_t count) { return ~uint64_t{0} >> (64 - count); }

inline Output make_output(const OutputS8& requant) {
  const auto lo = static_cast<int32_t>(requant.lo_minus_zero_point) + requant.zero_point;
  const auto hi = static_cast<int32_t>(requant.hi_minus_zero_point) + requant.zero_point;
  Output out;
  out.order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  out.zero_point = _mm512_set1_epi16(static_cast<int16_t>(requant.zero_point));
  out.lowest = _mm512_set1_epi8(static_cast<int8_t>(lo));
  out.highest = _mm512_set1_epi8(static_cast<int8_t>(hi));
  out.least_zero_point = requant.zero_point == -128;
  out.clamps = lo > -128 || hi < 127;
  out.highest_product = requant.hi_minus_zero_point;
  return out;
}

// Sixteen codes a vector of sums, in order. Clamping follows rounding here: both keep order, so nothing
// differs.
template <int32_t V>
inline __m512i narrow(const __m512i* q, const Output& out) {
  const __m512i ab = _mm512_packs_epi32(q[0], q[1]), cd = _mm512_packs_epi32(q[2], q[3]);
  __m512i codes;
  if (out.least_zero_point) {
    codes = _mm512_xor_si512(_mm512_packus_epi16(ab, cd), _mm512_set1_epi8(-128));
  } else {
    __m512i zero_point = out.zero_point;
    __asm__("" : "+v"(zero_point));  // once: gcc would load it for each
    codes = _mm512_packs_epi16(_mm512_adds_epi16(ab, zero_point), _mm512_adds_epi16(cd, zero_point));
  }
  if (V < 4) codes = _mm512_permutexvar_epi32(out.order, codes);
  if (out.clamps) codes = _mm512_max_epi8(_mm512_min_epi8(codes, out.highest), out.lowest);
  return codes;
}

// The i-th row of 16 V codes.
template <int32_t V>
inline void store(int8_t* y, int32_t i, __m512i codes) {
  if (V == 4) {
    _mm512_storeu_si512(y, codes);
  } else if (V == 2) {
    const __m256i half = i == 0 ? _mm512_castsi512_si256(codes) : _mm512_extracti64x4_epi64(codes, 1);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(y), half);
  } else {
    const __m128i quarter = i == 0   ? _mm512_castsi512_si128(codes)
                            : i == 1 ? _mm512_extracti32x4_epi32(codes, 1)
                            : i == 2 ? _mm512_extracti32x4_epi32(codes, 2)
                                     : _mm512_extracti32x4_epi32(codes, 3);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(y), quarter);
  }
}

// Codes of the rows from r on that share a vector. `Steep`: products may pass what int32 holds.
template <int32_t M, int32_t V, bool Steep>
__attribute__((always_inline)) inline __m512i leave(const __m512i (*acc)[V], int32_t r,
                                                    const int8_t* multiplier, const Output& out) {
  __m512i q[4];
#pragma GCC unroll 4
  for (int32_t i = 0; i < 4; ++i) {
    const int32_t v = i % V, row = r + i / V;
    if (row >= M) {
      q[i] = q[i - V];
      continue;
    }
    __m512 product = _mm512_mul_ps(_mm512_cvtepi32_ps(acc[row][v]), _mm512_loadu_ps(multiplier + 64 * v));
    // Too small for int32 becomes its least value of itself.
    if (Steep) product = _mm512_min_ps(product, _mm512_set1_ps(out.highest_product));
    q[i] = _mm512_cvtps_epi32(product);
  }
  return narrow<V>(q, out);
}

// m >= M rows of 16 V columns, M at a time, where no product passes int32 and k is a multiple of 4. What
// follows a tile's last product would not overlap the next tile, whose products wait behind it: so the rows
// are stored one by one, each between its sums and its first products of the next tile. The next panel is fetched into
// the second-level cache meanwhile, a line a step: it would be late otherwise, in a tile that is 64 columns
// wide.
template <int32_t M, int32_t V>
__attribute__((noinline)) void strip(const Tile& t, int32_t m, const Output& out) {
  constexpr int32_t kShare = 4 / V;  // rows that one vector stores
  const int8_t* const multiplier = t.panel + 64 * V;
  const int8_t* const weights = t.panel + 2 * 64 * V;
  const ptrdiff_t depth = t.k;
  __m512i acc[M][V];
#pragma GCC unroll 4
  for (int32_t v = 0; v < V; ++v) acc[0][v] = _mm512_loadu_si512(t.panel + 64 * v);
#pragma GCC unroll 14
  for (int32_t r = 1; r < M; ++r)
#pragma GCC unroll 4
    for (int32_t v = 0; v < V; ++v) acc[r][v] = acc[0][v];
  constexpr int32_t kHeld = held_columns(M, V);

  int8_t* y = t.output;
  const int8_t* ahead = weights + 16 * V * t.taps * depth;
  ptrdiff_t i = 0;
  for (int32_t first = 0;;) {
    const int8_t* w = weights + 16 * V * i;
    const int8_t* const* rows = t.rows + first;
    for (int32_t taps = t.taps; taps > 0; --taps) {
      const int8_t* x[M];
#pragma GCC unroll 14
      for (int32_t r = 0; r < M; ++r) x[r] = address(rows + r);
      int32_t outside = 0;
      while (outside < M && rows[outside] == t.zero_row) ++outside;
      if (outside == M) {
        w += 16 * V * (depth - i);
        i = depth;
      }
      for (; i < depth; i += 4) {
        _mm_prefetch(ahead, _MM_HINT_T1);
        ahead += 64;
        __m512i columns[V];
#pragma GCC unroll 4
        for (int32_t v = 0; v < kHeld; ++v) columns[v] = _mm512_loadu_si512(w + 64 * v);
#pragma GCC unroll 14
        for (int32_t r = 0; r < M; ++r) dot_row<V, kHeld>(acc[r], spread(x[r] + i), columns, w);
        w += 64 * V;
      }
      i = 0;
      rows += kMr;
    }

    // The last tile is computed once more, a step of it, into nothing.
    const bool done = first == m - M;
    const int32_t step = done ? 0 : m - first < 2 * M ? m - M - first : M;
    first += step;
    __m512i columns[V];
#pragma GCC unroll 4
    for (int32_t v = 0; v < kHeld; ++v) {
      columns[v] = _mm512_loadu_si512(weights + 64 * v);
      __asm__("" : "+v"(columns[v]));  // once: gcc would load them for each row
    }
    int8_t* to = y;
#pragma GCC unroll 14
    for (int32_t r = 0; r < M; r += kShare) {
      const __m512i codes = leave<M, V, false>(acc, r, multiplier, out);
#pragma GCC unroll 4
      for (int32_t j = 0; j < kShare; ++j) {
        if (r + j >= M) break;
        store<V>(to, j, codes);
        to += t.output_stride;
#pragma GCC unroll 4
        for (int32_t v = 0; v < V; ++v) acc[r + j][v] = _mm512_loadu_si512(t.panel + 64 * v);
        dot_row<V, kHeld>(acc[r + j], spread(address(t.rows + first + r + j)), columns, weights);
      }
    }
    if (done) return;
    y += static_cast<size_t>(step) * t.output_stride;
    i = 4;
  }
}

}  // namespace
}  // namespace intaglio
