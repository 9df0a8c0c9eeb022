// Two taps at a time: their codes and weights are interleaved, and vpdpwssd adds both products to the sum.
#include <immintrin.h>

#include "kernels/dwconv/dwconv_s16.h"

namespace intaglio {
namespace {

constexpr int32_t kChannels = 32;

// Interleaving two registers leaves channels 0 to 3 of each 8 in the lower result, 4 to 7 in the upper one.
inline __m512i lower_order() {
  return _mm512_setr_epi32(0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27);
}
inline __m512i upper_order() { return _mm512_add_epi32(lower_order(), _mm512_set1_epi32(4)); }

struct Channels {
  int32_t first;
  __mmask32 there;  // those of the 32 that exist

  __mmask16 half(int32_t i) const { return static_cast<__mmask16>(there >> (16 * i)); }
  __m512i codes(const int16_t* x) const { return _mm512_maskz_loadu_epi16(there, x + first); }
  __m512i weights(const int8_t* w) const {
    return _mm512_cvtepi8_epi16(_mm256_maskz_loadu_epi8(there, w + first));
  }
};

// The codes of 32 channels of kPixels pixels, whose rows are `taps` apart.
template <int32_t kPixels>
void run_channels(const DwconvS16Args& args, const int16_t* const* rows, const Channels& at, int16_t* y) {
  const __m512i lower = lower_order(), upper = upper_order(), zero = _mm512_setzero_si512();
  const int32_t* const b = args.bias + at.first;
  const __m512i b0 = _mm512_maskz_loadu_epi32(at.half(0), b),
                b1 = _mm512_maskz_loadu_epi32(at.half(1), b + 16);
  __m512i low[kPixels], high[kPixels];
#pragma GCC unroll 4
  for (int32_t p = 0; p < kPixels; ++p) {
    low[p] = _mm512_permutex2var_epi32(b0, lower, b1);
    high[p] = _mm512_permutex2var_epi32(b0, upper, b1);
  }
  const int8_t* w = args.weights;
  int32_t t = 0;
  for (; t + 2 <= args.taps; t += 2, w += 2 * static_cast<ptrdiff_t>(args.channels)) {
    const __m512i w0 = at.weights(w), w1 = at.weights(w + args.channels);
    const __m512i w_low = _mm512_unpacklo_epi16(w0, w1), w_high = _mm512_unpackhi_epi16(w0, w1);
#pragma GCC unroll 4
    for (int32_t p = 0; p < kPixels; ++p) {
      const __m512i x0 = at.codes(rows[p * args.taps + t]), x1 = at.codes(rows[p * args.taps + t + 1]);
      low[p] = _mm512_dpwssd_epi32(low[p], _mm512_unpacklo_epi16(x0, x1), w_low);
      high[p] = _mm512_dpwssd_epi32(high[p], _mm512_unpackhi_epi16(x0, x1), w_high);
    }
  }
  if (t < args.taps) {
    const __m512i w0 = at.weights(w);
    const __m512i w_low = _mm512_unpacklo_epi16(w0, zero), w_high = _mm512_unpackhi_epi16(w0, zero);
#pragma GCC unroll 4
    for (int32_t p = 0; p < kPixels; ++p) {
      const __m512i x0 = at.codes(rows[p * args.taps + t]);
      low[p] = _mm512_dpwssd_epi32(low[p], _mm512_unpacklo_epi16(x0, zero), w_low);
      high[p] = _mm512_dpwssd_epi32(high[p], _mm512_unpackhi_epi16(x0, zero), w_high);
    }
  }
  const float* const m = args.multiplier + at.first;
  const __m512 m0 = _mm512_maskz_loadu_ps(at.half(0), m), m1 = _mm512_maskz_loadu_ps(at.half(1), m + 16);
  const __m512 m_low = _mm512_permutex2var_ps(m0, lower, m1), m_high = _mm512_permutex2var_ps(m0, upper, m1);
  const __m512 lo = _mm512_set1_ps(args.requant.lo), hi = _mm512_set1_ps(args.requant.hi);
  const auto code = [&](__m512i sum, __m512 factor) {
    const __m512 real = _mm512_mul_ps(_mm512_cvtepi32_ps(sum), factor);
    return _mm512_cvtps_epi32(_mm512_min_ps(_mm512_max_ps(real, lo), hi));
  };
#pragma GCC unroll 4
  for (int32_t p = 0; p < kPixels; ++p)
    _mm512_mask_storeu_epi16(y + p * static_cast<ptrdiff_t>(args.output_stride) + at.first, at.there,
                             _mm512_packs_epi32(code(low[p], m_low), code(high[p], m_high)));
}

template <int32_t kPixels>
void run_pixels(const DwconvS16Args& args, int32_t first) {
  const int16_t* const* const rows = args.rows + static_cast<ptrdiff_t>(first) * args.taps;
  int16_t* const y = args.output + static_cast<ptrdiff_t>(first) * static_cast<ptrdiff_t>(args.output_stride);
  for (int32_t c = 0; c < args.channels; c += kChannels) {
    const int32_t left = args.channels - c;
    run_channels<kPixels>(args, rows, {c, left < kChannels ? (__mmask32{1} << left) - 1 : ~__mmask32{0}}, y);
  }
}

}  // namespace

void dwconv_s16_avx512vnni(const DwconvS16Args& args);

void dwconv_s16_avx512vnni(const DwconvS16Args& args) {
  int32_t p = 0;
  for (; p + 4 <= args.pixels; p += 4) run_pixels<4>(args, p);
  for (; p < args.pixels; ++p) run_pixels<1>(args, p);
}

}  // namespace intaglio
