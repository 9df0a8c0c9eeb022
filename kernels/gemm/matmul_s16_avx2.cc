#include <immintrin.h>

#include "kernels/gemm/matmul_s16_tiles.h"

namespace intaglio {
namespace {

struct Lanes {
  using Sums = __m256i;
  static constexpr int32_t kColumns = 8;
  static Sums zeros() { return _mm256_setzero_si256(); }
  static Sums load(const int16_t* panel) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(panel));
  }
  static Sums spread(int32_t pair) { return _mm256_set1_epi32(pair); }
  static Sums products(Sums w, Sums pair) {
    return _mm256_add_epi32(_mm256_madd_epi16(w, pair), _mm256_set1_epi32(-1));
  }
  static Sums add_low(Sums sums, Sums v) {
    return _mm256_add_epi32(sums, _mm256_and_si256(v, _mm256_set1_epi32(0xffff)));
  }
  static Sums add_high(Sums sums, Sums v) { return _mm256_add_epi32(sums, _mm256_srai_epi32(v, 16)); }
  // A double holds the sum, and is rounded once.
  static __m128 reals(__m128i low, __m128i high, __m256d steps) {
    const __m256d upper = _mm256_mul_pd(_mm256_cvtepi32_pd(high), _mm256_set1_pd(65536.0));
    return _mm256_cvtpd_ps(_mm256_add_pd(_mm256_add_pd(upper, _mm256_cvtepi32_pd(low)), steps));
  }
  static void store(Sums low, Sums high, int32_t steps, const MatmulS16Args& args, int16_t* out) {
    const __m256d added = _mm256_set1_pd(steps);
    const __m128 first = reals(_mm256_castsi256_si128(low), _mm256_castsi256_si128(high), added);
    const __m128 last = reals(_mm256_extracti128_si256(low, 1), _mm256_extracti128_si256(high, 1), added);
    const __m256 v = _mm256_mul_ps(_mm256_set_m128(last, first), _mm256_set1_ps(args.multiplier));
    const __m256 bounded =
        _mm256_min_ps(_mm256_max_ps(v, _mm256_set1_ps(args.requant.lo)), _mm256_set1_ps(args.requant.hi));
    const __m256i q = _mm256_cvtps_epi32(bounded);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out),
                     _mm_packs_epi32(_mm256_castsi256_si128(q), _mm256_extracti128_si256(q, 1)));
  }
};

}  // namespace

void matmul_s16_avx2(const MatmulS16Args& args);

void matmul_s16_avx2(const MatmulS16Args& args) { run_matmul_s16<Lanes>(args); }

}  // namespace intaglio
