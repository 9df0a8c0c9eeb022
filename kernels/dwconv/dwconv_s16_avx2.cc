// Two taps at a time: their codes and weights are interleaved, and vpmaddwd adds both products.
#include <immintrin.h>

#include "kernels/dwconv/dwconv_s16.h"

namespace intaglio {
namespace {

inline __m128i codes_at(const int16_t* x) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(x)); }
inline __m128i weights_at(const int8_t* w) {
  return _mm_cvtepi8_epi16(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(w)));
}

// The codes of eight channels.
void run_eight(const DwconvS16Args& args, const int16_t* const* rows, int32_t c, int16_t* y) {
  __m128i low = _mm_loadu_si128(reinterpret_cast<const __m128i*>(args.bias + c));
  __m128i high = _mm_loadu_si128(reinterpret_cast<const __m128i*>(args.bias + c + 4));
  const int8_t* w = args.weights + c;
  const auto add = [&](__m128i x0, __m128i x1, __m128i w0, __m128i w1) {
    low = _mm_add_epi32(low, _mm_madd_epi16(_mm_unpacklo_epi16(x0, x1), _mm_unpacklo_epi16(w0, w1)));
    high = _mm_add_epi32(high, _mm_madd_epi16(_mm_unpackhi_epi16(x0, x1), _mm_unpackhi_epi16(w0, w1)));
  };
  int32_t t = 0;
  for (; t + 2 <= args.taps; t += 2, w += 2 * static_cast<ptrdiff_t>(args.channels))
    add(codes_at(rows[t] + c), codes_at(rows[t + 1] + c), weights_at(w), weights_at(w + args.channels));
  const __m128i zero = _mm_setzero_si128();
  if (t < args.taps) add(codes_at(rows[t] + c), zero, weights_at(w), zero);
  const __m256 lo = _mm256_set1_ps(args.requant.lo), hi = _mm256_set1_ps(args.requant.hi);
  const __m256 sums = _mm256_cvtepi32_ps(_mm256_set_m128i(high, low));
  const __m256 real = _mm256_mul_ps(sums, _mm256_loadu_ps(args.multiplier + c));
  const __m256i codes = _mm256_cvtps_epi32(_mm256_min_ps(_mm256_max_ps(real, lo), hi));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(y + c),
                   _mm_packs_epi32(_mm256_castsi256_si128(codes), _mm256_extracti128_si256(codes, 1)));
}

}  // namespace

void dwconv_s16_avx2(const DwconvS16Args& args);

void dwconv_s16_avx2(const DwconvS16Args& args) {
  for (int32_t p = 0; p < args.pixels; ++p) {
    const int16_t* const* const rows = args.rows + static_cast<ptrdiff_t>(p) * args.taps;
    int16_t* const y = args.output + static_cast<ptrdiff_t>(p) * static_cast<ptrdiff_t>(args.output_stride);
    // The last run may overlap the one before.
    for (int32_t c = 0; c < args.channels; c += 8)
      run_eight(args, rows, c + 8 <= args.channels ? c : args.channels - 8, y);
  }
}

}  // namespace intaglio
