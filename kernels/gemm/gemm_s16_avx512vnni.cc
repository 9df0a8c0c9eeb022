// vpdpwssd adds two products of int16 to 32 bits; the weights are widened as they are read.
#include <immintrin.h>

#include "kernels/gemm/gemm_s16_tiles.h"

namespace intaglio {
namespace {

struct Lanes {
  using Sums = __m512i;
  static constexpr int32_t kWidth = 16;
  static Sums zeros() { return _mm512_setzero_si512(); }
  static Sums load(const int32_t* p) { return _mm512_loadu_si512(p); }
  static void store(int32_t* p, Sums sums) { _mm512_storeu_si512(p, sums); }
  static Sums widened(const int8_t* w) {
    return _mm512_cvtepi8_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(w)));
  }
  static Sums spread(int32_t pair) { return _mm512_set1_epi32(pair); }
  // Around the intrinsic gcc copies accumulators.
  static Sums multiply_add(Sums sums, Sums weights, Sums pair) {
    __asm__("vpdpwssd %2, %1, %0" : "+v"(sums) : "v"(weights), "v"(pair));
    return sums;
  }
};

template <int32_t kTileRows>
struct Tile : PairSums<Lanes, kTileRows> {
  using PairSums<Lanes, kTileRows>::kRows;
  using PairSums<Lanes, kTileRows>::sums;

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

void gemm_s16_avx512vnni(const GemmS16Args& args) { run_panels_s16<Tile, 2>(args, 48); }

}  // namespace intaglio
