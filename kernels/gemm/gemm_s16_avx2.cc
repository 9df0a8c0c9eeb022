// vpmaddwd adds two products of int16 in 32 bits; the weights are widened as they are read.
#include <immintrin.h>

#include "kernels/gemm/gemm_s16_tiles.h"

namespace intaglio {
namespace {

inline __m256i widened(const int8_t* w) {
  return _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(w)));
}
inline __m256i multiply_add(__m256i sum, __m256i weights, __m256i pair) {
  return _mm256_add_epi32(sum, _mm256_madd_epi16(weights, pair));
}

template <int32_t kTileRows>
struct Tile {
  static constexpr int32_t kRows = kTileRows, kColumns = 16;
  __m256i sums[kRows][2];

  void clear(const int32_t* bias) {
    for (int32_t v = 0; v < 2; ++v) {
      const __m256i first = bias != nullptr
                                ? _mm256_loadu_si256(reinterpret_cast<const __m256i*>(bias + 8 * v))
                                : _mm256_setzero_si256();
      for (int32_t r = 0; r < kRows; ++r) sums[r][v] = first;
    }
  }

  // The sums stand in registers from here to there: every loop over rows is unrolled, or arrays would stay in memory.
  void add(const int16_t* const (&rows)[kRows], const int8_t* w, int32_t depths) {
    __m256i first[kRows], second[kRows];
    const int16_t* x[kRows];
#pragma GCC unroll 8
    for (int32_t r = 0; r < kRows; ++r) {
      x[r] = rows[r];
      first[r] = sums[r][0];
      second[r] = sums[r][1];
    }
    ptrdiff_t i = 0;
    for (; i + 2 <= depths; i += 2, w += 2 * kColumns) {
      const __m256i w0 = widened(w), w1 = widened(w + kColumns);
#pragma GCC unroll 8
      for (int32_t r = 0; r < kRows; ++r) {
        int32_t pair;
        memcpy(&pair, x[r] + i, sizeof pair);
        const __m256i spread = _mm256_set1_epi32(pair);
        first[r] = multiply_add(first[r], w0, spread);
        second[r] = multiply_add(second[r], w1, spread);
      }
    }
    if (i < depths) {
      const __m256i w0 = widened(w), w1 = widened(w + kColumns);
#pragma GCC unroll 8
      for (int32_t r = 0; r < kRows; ++r) {
        const __m256i spread = _mm256_set1_epi32(static_cast<uint16_t>(x[r][i]));
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
      for (int32_t v = 0; v < 2; ++v)
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(out[r] + 8 * v), sums[r][v]);
  }

  void store(const float* multiplier, const OutputS16& requant, int16_t* y, size_t stride) const {
    const __m256 lo = _mm256_set1_ps(requant.lo), hi = _mm256_set1_ps(requant.hi);
    for (int32_t r = 0; r < kRows; ++r, y += stride) {
      __m256i codes[2];
      for (int32_t v = 0; v < 2; ++v) {
        const __m256 factor = _mm256_loadu_ps(multiplier + 8 * v);
        const __m256 real = _mm256_mul_ps(_mm256_cvtepi32_ps(sums[r][v]), factor);
        codes[v] = _mm256_cvtps_epi32(_mm256_min_ps(_mm256_max_ps(real, lo), hi));
      }
      const __m256i packed = _mm256_permute4x64_epi64(_mm256_packs_epi32(codes[0], codes[1]), 0xd8);
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(y), packed);
    }
  }
};

}  // namespace

void gemm_s16_avx2(const GemmS16Args& args);

void gemm_s16_avx2(const GemmS16Args& args) { run_panels_s16<Tile, 4, 2>(args, 48); }

}  // namespace intaglio
