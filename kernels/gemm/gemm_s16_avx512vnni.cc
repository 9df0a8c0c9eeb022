// vpdpwssd adds two products of int16 to 32 bits; the weights are widened as they are read.
#include <immintrin.h>

#include "kernels/gemm/gemm_s16_tiles.h"

namespace intaglio {
namespace {

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

  void step(const int8_t* w, const __m512i (&pairs)[kRows]) {
    const __m512i w0 = _mm512_cvtepi8_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(w)));
    const __m512i w1 = _mm512_cvtepi8_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(w + 32)));
    for (int32_t r = 0; r < kRows; ++r) {
      // Around the intrinsic gcc copies accumulators.
      __asm__("vpdpwssd %2, %1, %0" : "+v"(sums[r][0]) : "v"(w0), "v"(pairs[r]));
      __asm__("vpdpwssd %2, %1, %0" : "+v"(sums[r][1]) : "v"(w1), "v"(pairs[r]));
    }
  }

  void add(const int16_t* const (&rows)[kRows], const int8_t* w, int32_t depths) {
    __m512i pairs[kRows];
    ptrdiff_t i = 0;
    for (; i + 2 <= depths; i += 2, w += 2 * kColumns) {
      for (int32_t r = 0; r < kRows; ++r) {
        int32_t pair;
        memcpy(&pair, rows[r] + i, sizeof pair);
        pairs[r] = _mm512_set1_epi32(pair);
      }
      step(w, pairs);
    }
    if (i == depths) return;
    for (int32_t r = 0; r < kRows; ++r) pairs[r] = _mm512_set1_epi32(static_cast<uint16_t>(rows[r][i]));
    step(w, pairs);
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
