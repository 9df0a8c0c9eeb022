// vpdpbusd on 256 bits, for the two encodings that CPUs have it in. gemm_s8_avxvnni.cc (VEX) and gemm_s8_avx512ymm.cc (EVEX)
// include this with ITG_DOT, the instruction. Sixteen registers: tiles of up to 6 x 16. Rows are read as x + 128, as in
// gemm_s8_avx512vnni.cc.
#pragma once

#include <immintrin.h>

#include "kernels/gemm/gemm_s8.h"

namespace intaglio {
namespace {

constexpr int32_t kMr = 24, kNr = 16, kMaxRows = 6;

// gcc would copy every sum around the intrinsic.
inline void dot(__m256i& acc, __m256i x, __m256i w) {
  __asm__(ITG_DOT " %2, %1, %0" : "+x"(acc) : "x"(x), "x"(w));
}

inline __m256i load_32(const int8_t* p) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)); }

// The last k % 4 bytes of each row, zeros after them.
__attribute__((noipa)) void last_bytes(const int8_t* const* rows, int32_t m, int32_t k, uint32_t* last) {
  for (int32_t r = 0; r < m; ++r) {
    const int8_t* const x = rows[r] + (k & ~3);
    uint32_t quad = 0;
    for (int32_t i = (k & 3) - 1; i >= 0; --i) quad = quad << 8 | static_cast<uint8_t>(x[i]);
    last[r] = quad;
  }
}

// M rows of one panel from `row` on; those past `count` repeat the last one.
template <int32_t M>
__attribute__((always_inline)) inline void tile(const GemmS8Args& args, int32_t row, int32_t count,
                                                const int8_t* w, __m256i* sums) {
  int32_t index[M];
#pragma GCC unroll 6
  for (int32_t r = 0; r < M; ++r) index[r] = row + (r < count ? r : count - 1);
  __m256i acc[M][2];
#pragma GCC unroll 6
  for (int32_t r = 0; r < M; ++r) {
    acc[r][0] = load_32(w);
    acc[r][1] = load_32(w + 32);
  }
  w += 128;
  for (int32_t t = 0; t < args.taps; ++t) {
    const int8_t* const* const rows = args.rows + static_cast<ptrdiff_t>(t) * kMr;
    const int8_t* x[M];
    uint32_t last[M];
#pragma GCC unroll 6
    for (int32_t r = 0; r < M; ++r) x[r] = rows[index[r]];
    ptrdiff_t depth = (args.rows_padded ? args.k + 3 : args.k) & ~3;
    for (bool rest = depth < args.k;; rest = false) {
      for (ptrdiff_t i = 0; i < depth; i += 4) {
        const __m256i w0 = load_32(w), w1 = load_32(w + 32);
        w += 64;
#pragma GCC unroll 6
        for (int32_t r = 0; r < M; ++r) {
          int32_t quad;
          memcpy(&quad, x[r] + i, sizeof quad);
          const __m256i spread = _mm256_xor_si256(_mm256_set1_epi32(quad), _mm256_set1_epi8(-128));
          dot(acc[r][0], spread, w0);
          dot(acc[r][1], spread, w1);
        }
      }
      if (!rest) break;
      // The rest of each row, as a row of four.
      last_bytes(x, M, args.k, last);
#pragma GCC unroll 6
      for (int32_t r = 0; r < M; ++r) x[r] = reinterpret_cast<const int8_t*>(last + r);
      depth = 4;
    }
  }
#pragma GCC unroll 6
  for (int32_t r = 0; r < M; ++r) {
    _mm256_store_si256(sums + 2 * r, acc[r][0]);
    _mm256_store_si256(sums + 2 * r + 1, acc[r][1]);
  }
}

// store(first column, multipliers, sums) takes each panel's sums.
template <typename Args, typename Store>
inline void multiply_ymm_vnni(const Args& args, Store store) {
  const auto* w = static_cast<const int8_t*>(args.weights);
  const ptrdiff_t panel_bytes = kNr * (8 + static_cast<ptrdiff_t>(args.taps) * ((args.k + 3) & ~3));
  alignas(32) __m256i sums[2 * kMr];
  for (int32_t first = 0; first < args.n; first += kNr, w += panel_bytes) {
    for (int32_t r = 0; r < args.m; r += kMaxRows) {
      const int32_t rows = args.m - r < kMaxRows ? args.m - r : kMaxRows;
      __m256i* const to = sums + 2 * r;
      rows > 1 ? tile<kMaxRows>(args, r, rows, w, to) : tile<1>(args, r, rows, w, to);
    }
    store(first, w + 64, sums);
  }
}

}  // namespace
}  // namespace intaglio
