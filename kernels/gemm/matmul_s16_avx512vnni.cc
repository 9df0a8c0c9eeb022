// vpdpwssd adds two products to -1 in one step.
#include <immintrin.h>

#include "kernels/gemm/matmul_s16_tiles.h"

namespace intaglio {
namespace {

struct Lanes {
  using Sums = __m512i;
  static constexpr int32_t kColumns = 16;
  static Sums zeros() { return _mm512_setzero_si512(); }
  static Sums load(const int16_t* panel) { return _mm512_loadu_si512(panel); }
  static Sums spread(int32_t pair) { return _mm512_set1_epi32(pair); }
  static Sums products(Sums w, Sums pair) { return _mm512_dpwssd_epi32(_mm512_set1_epi32(-1), w, pair); }
  static Sums add_low(Sums sums, Sums v) {
    return _mm512_add_epi32(sums, _mm512_and_si512(v, _mm512_set1_epi32(0xffff)));
  }
  static Sums add_high(Sums sums, Sums v) { return _mm512_add_epi32(sums, _mm512_srai_epi32(v, 16)); }
  // A double holds the sum, and is rounded once.
  static __m256 reals(__m256i low, __m256i high, __m512d steps) {
    const __m512d upper = _mm512_mul_pd(_mm512_cvtepi32_pd(high), _mm512_set1_pd(65536.0));
    return _mm512_cvtpd_ps(_mm512_add_pd(_mm512_add_pd(upper, _mm512_cvtepi32_pd(low)), steps));
  }
  static __m128i codes(__m256 v, const MatmulS16Args& args) {
    const __m256 real = _mm256_mul_ps(v, _mm256_set1_ps(args.multiplier));
    const __m256 bounded =
        _mm256_min_ps(_mm256_max_ps(real, _mm256_set1_ps(args.requant.lo)), _mm256_set1_ps(args.requant.hi));
    const __m256i q = _mm256_cvtps_epi32(bounded);
    return _mm_packs_epi32(_mm256_castsi256_si128(q), _mm256_extracti128_si256(q, 1));
  }
  static void store(Sums low, Sums high, int32_t steps, const MatmulS16Args& args, int16_t* out) {
    const __m512d added = _mm512_set1_pd(steps);
    const __m256 first = reals(_mm512_castsi512_si256(low), _mm512_castsi512_si256(high), added);
    const __m256 last = reals(_mm512_extracti64x4_epi64(low, 1), _mm512_extracti64x4_epi64(high, 1), added);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out), codes(first, args));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + 8), codes(last, args));
  }
};

}  // namespace

void matmul_s16_avx512vnni(const MatmulS16Args& args);

void matmul_s16_avx512vnni(const MatmulS16Args& args) { run_matmul_s16<Lanes>(args); }

}  // namespace intaglio
