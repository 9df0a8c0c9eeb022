// Two taps at a time: their codes and weights are interleaved, and vpmaddwd adds both products.
#include <immintrin.h>

#include "kernels/dwconv/dwconv_s16.h"

namespace intaglio {
namespace {

inline __m128i codes_at(const int16_t* x) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(x)); }
inline __m128i weights_at(const int8_t* w) {
  return _mm_cvtepi8_epi16(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(w)));
}

inline __m128i products(__m128i x0, __m128i x1, __m128i w0, __m128i w1, bool is_high) {
  return is_high ? _mm_madd_epi16(_mm_unpackhi_epi16(x0, x1), _mm_unpackhi_epi16(w0, w1))
                 : _mm_madd_epi16(_mm_unpacklo_epi16(x0, x1), _mm_unpacklo_epi16(w0, w1));
}

// The codes of eight channels of kPixels pixels, whose rows are `taps` apart.
template <int32_t kPixels>
void run_eight(const DwconvS16Args& args, const int16_t* const* rows, int32_t c, int16_t* y) {
  const __m128i zero = _mm_setzero_si128();
  const int8_t* w = args.weights + c;
  __m128i low[kPixels], high[kPixels];
#pragma GCC unroll 4
  for (int32_t p = 0; p < kPixels; ++p) {
    low[p] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(args.bias + c));
    high[p] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(args.bias + c + 4));
  }
  int32_t t = 0;
  for (; t + 2 <= args.taps; t += 2, w += 2 * static_cast<ptrdiff_t>(args.channels)) {
    const __m128i w0 = weights_at(w), w1 = weights_at(w + args.channels);
#pragma GCC unroll 4
    for (int32_t p = 0; p < kPixels; ++p) {
      const __m128i x0 = codes_at(rows[p * args.taps + t] + c),
                    x1 = codes_at(rows[p * args.taps + t + 1] + c);
      low[p] = _mm_add_epi32(low[p], products(x0, x1, w0, w1, false));
      high[p] = _mm_add_epi32(high[p], products(x0, x1, w0, w1, true));
    }
  }
  if (t < args.taps) {
    const __m128i w0 = weights_at(w);
#pragma GCC unroll 4
    for (int32_t p = 0; p < kPixels; ++p) {
      const __m128i x0 = codes_at(rows[p * args.taps + t] + c);
      low[p] = _mm_add_epi32(low[p], products(x0, zero, w0, zero, false));
      high[p] = _mm_add_epi32(high[p], products(x0, zero, w0, zero, true));
    }
  }
  const __m256 lo = _mm256_set1_ps(args.requant.lo), hi = _mm256_set1_ps(args.requant.hi);
  const __m256 factor = _mm256_loadu_ps(args.multiplier + c);
#pragma GCC unroll 4
  for (int32_t p = 0; p < kPixels; ++p) {
    const __m256 real = _mm256_mul_ps(_mm256_cvtepi32_ps(_mm256_set_m128i(high[p], low[p])), factor);
    const __m256i codes = _mm256_cvtps_epi32(_mm256_min_ps(_mm256_max_ps(real, lo), hi));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(y + p * static_cast<ptrdiff_t>(args.output_stride) + c),
                     _mm_packs_epi32(_mm256_castsi256_si128(codes), _mm256_extracti128_si256(codes, 1)));
  }
}

// All channels; the last run may overlap the one before.
template <int32_t kPixels>
void run_pixels(const DwconvS16Args& args, int32_t first) {
  const int16_t* const* const rows = args.rows + static_cast<ptrdiff_t>(first) * args.taps;
  int16_t* const y = args.output + static_cast<ptrdiff_t>(first) * static_cast<ptrdiff_t>(args.output_stride);
  for (int32_t c = 0; c < args.channels; c += 8)
    run_eight<kPixels>(args, rows, c + 8 <= args.channels ? c : args.channels - 8, y);
}

}  // namespace

void dwconv_s16_avx2(const DwconvS16Args& args);

void dwconv_s16_avx2(const DwconvS16Args& args) {
  int32_t p = 0;
  for (; p + 4 <= args.pixels; p += 4) run_pixels<4>(args, p);
  for (; p < args.pixels; ++p) run_pixels<1>(args, p);
}

}  // namespace intaglio
