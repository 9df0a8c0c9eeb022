// vpmaddwd adds two products of int16 in 32 bits; the weights are widened as they are read.
#include <immintrin.h>

#include "kernels/gemm/gemm_s16_tiles.h"

namespace intaglio {
namespace {

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

  static __m256i widened(const int8_t* w) {
    return _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(w)));
  }
  void step(const int8_t* w, const int32_t (&pairs)[kRows]) {
    const __m256i w0 = widened(w), w1 = widened(w + 16);
    for (int32_t r = 0; r < kRows; ++r) {
      const __m256i pair = _mm256_set1_epi32(pairs[r]);
      sums[r][0] = _mm256_add_epi32(sums[r][0], _mm256_madd_epi16(w0, pair));
      sums[r][1] = _mm256_add_epi32(sums[r][1], _mm256_madd_epi16(w1, pair));
    }
  }

  void add(const int16_t* const (&rows)[kRows], const int8_t* w, int32_t depths) {
    int32_t pairs[kRows];
    ptrdiff_t i = 0;
    for (; i + 2 <= depths; i += 2, w += 2 * kColumns) {
      for (int32_t r = 0; r < kRows; ++r) memcpy(&pairs[r], rows[r] + i, sizeof pairs[r]);
      step(w, pairs);
    }
    if (i == depths) return;
    for (int32_t r = 0; r < kRows; ++r) pairs[r] = static_cast<uint16_t>(rows[r][i]);
    step(w, pairs);
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
