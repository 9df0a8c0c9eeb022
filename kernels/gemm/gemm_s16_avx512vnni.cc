// vpdpwssd adds two products of int16 to 32 bits; the weights are widened as they are read.
#include <immintrin.h>

#include "kernels/gemm/gemm_s16_tiles.h"

namespace intaglio {
namespace {

inline __m512i widened(const int8_t* w) {
  return _mm512_cvtepi8_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(w)));
}
// Around the intrinsic gcc copies accumulators.
inline __m512i multiply_add(__m512i sum, __m512i weights, __m512i pair) {
  __asm__("vpdpwssd %2, %1, %0" : "+v"(sum) : "v"(weights), "v"(pair));
  return sum;
}

template <int32_t kTileRows>
struct Tile {
  static constexpr int32_t kRows = kTileRows, kColumns = 32;
  __m512i sums[kRows][2];

  void clear(const int32_t* bias) {
    for (int32_t v = 0; v < 2; ++v) {
      const __m512i first = bias != nullptr ? _mm512_loadu_si512(bias + 16 * v) : _mm512_setzero_si512();
      for (int32_t r = 0; r < kRows; ++r) sums[r][v] = first;
    }
  }

  // The sums stand in registers from here to there: every loop over rows is unrolled, or arrays would stay in memory.
  void add(const int16_t* const (&rows)[kRows], const int8_t* w, int32_t depths) {
    __m512i first[kRows], second[kRows];
    const int16_t* x[kRows];
#pragma GCC unroll 8
    for (int32_t r = 0; r < kRows; ++r) {
      x[r] = rows[r];
      first[r] = sums[r][0];
      second[r] = sums[r][1];
    }
    ptrdiff_t i = 0;
    for (; i + 2 <= depths; i += 2, w += 2 * kColumns) {
      const __m512i w0 = widened(w), w1 = widened(w + kColumns);
#pragma GCC unroll 8
      for (int32_t r = 0; r < kRows; ++r) {
        int32_t pair;
        memcpy(&pair, x[r] + i, sizeof pair);
        const __m512i spread = _mm512_set1_epi32(pair);
        first[r] = multiply_add(first[r], w0, spread);
        second[r] = multiply_add(second[r], w1, spread);
      }
    }
    if (i < depths) {
      const __m512i w0 = widened(w), w1 = widened(w + kColumns);
#pragma GCC unroll 8
      for (int32_t r = 0; r < kRows; ++r) {
        const __m512i spread = _mm512_set1_epi32(static_cast<uint16_t>(x[r][i]));
        first[r] = multiply_add(first[r], w0, spread);
        second[r] = multiply_add(second[r], w1, spread);
      }
    }
#pragma GCC unroll 8
    for (int32_t r = 0; r < kRows; ++r) {
      sums[r][0] = first[r];
      sums[r][1] = second[r];
    }
  }

  void parts(int32_t (&out)[kRows][kColumns]) const {
    for (int32_t r = 0; r < kRows; ++r)
      for (int32_t v = 0; v < 2; ++v) _mm512_storeu_si512(out[r] + 16 * v, sums[r][v]);
  }

  void store(const float* multiplier, const OutputS16& requant, int16_t* y, size_t stride) const {
    const __m512 lo = _mm512_set1_ps(requant.lo), hi = _mm512_set1_ps(requant.hi);
    for (int32_t r = 0; r < kRows; ++r, y += stride)
      for (int32_t v = 0; v < 2; ++v) {
        const __m512 factor = _mm512_loadu_ps(multiplier + 16 * v);
        const __m512 real = _mm512_mul_ps(_mm512_cvtepi32_ps(sums[r][v]), factor);
        const __m512i code = _mm512_cvtps_epi32(_mm512_min_ps(_mm512_max_ps(real, lo), hi));
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(y + 16 * v), _mm512_cvtepi32_epi16(code));
      }
  }
};

}  // namespace

void gemm_s16_avx512vnni(const GemmS16Args& args);

void gemm_s16_avx512vnni(const GemmS16Args& args) { run_panels_s16<Tile, 8, 2>(args, 48); }

}  // namespace intaglio
