// vpmaddwd adds two products of int16 in 32 bits; the weights are widened as they are read.
#include <immintrin.h>

#include "kernels/gemm/gemm_s16_pairs.h"

namespace intaglio {
namespace {

struct Lanes {
  using Sums = __m256i;
  static constexpr int32_t kWidth = 8;
  static Sums zeros() { return _mm256_setzero_si256(); }
  static Sums load(const int32_t* p) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)); }
  static void store(int32_t* p, Sums sums) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), sums); }
  static Sums widened(const int8_t* w) {
    return _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(w)));
  }
  static Sums spread(int32_t pair) { return _mm256_set1_epi32(pair); }
  static Sums multiply_add(Sums sums, Sums weights, Sums pair) {
    return _mm256_add_epi32(sums, _mm256_madd_epi16(weights, pair));
  }
};

template <int32_t kTileRows>
struct Tile : PairSums<Lanes, kTileRows> {
  using PairSums<Lanes, kTileRows>::kRows;
  using PairSums<Lanes, kTileRows>::sums;

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

void gemm_s16_avx2(const GemmS16Args& args) { run_panels_s16<Tile, 2>(args, 48); }

}  // namespace intaglio
