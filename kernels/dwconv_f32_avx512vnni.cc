// Sixteen channels of up to four pixels at a time: four chains in flight, one load of the weights for all.
#include <immintrin.h>

#include "kernels/dwconv_f32.h"

namespace intaglio {
namespace {

constexpr int32_t kLanes = 16;

// finish_f32 on sixteen lanes: maxps and minps give their second operand where the first is not greater or
// less.
inline __m512 finish(__m512 v, const ClampF32& clamp) {
  const __mmask16 nan = _mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q);
  __m512 y = _mm512_max_ps(_mm512_add_ps(v, _mm512_setzero_ps()), _mm512_set1_ps(clamp.lo));
  y = _mm512_add_ps(_mm512_min_ps(y, _mm512_set1_ps(clamp.hi)), _mm512_setzero_ps());
  return _mm512_mask_mov_ps(y, nan, _mm512_castsi512_ps(_mm512_set1_epi32(0x7fc00000)));
}

template <int32_t Pixels>
inline void block(const DwconvF32Args& args, int32_t pixel, int32_t first, __mmask16 mask) {
  const float* const* const rows = args.rows + static_cast<ptrdiff_t>(pixel) * args.taps;
  __m512 acc[Pixels];
  acc[0] = args.bias != nullptr ? _mm512_maskz_loadu_ps(mask, args.bias + first) : _mm512_setzero_ps();
#pragma GCC unroll 4
  for (int32_t p = 1; p < Pixels; ++p) acc[p] = acc[0];
  const float* w = args.weights + first;
  for (int32_t t = 0; t < args.taps; ++t) {
    const __m512 weights = _mm512_maskz_loadu_ps(mask, w);
#pragma GCC unroll 4
    for (int32_t p = 0; p < Pixels; ++p)
      acc[p] = _mm512_fmadd_ps(_mm512_maskz_loadu_ps(mask, rows[p * args.taps + t] + first), weights, acc[p]);
    w += args.channels;
  }
#pragma GCC unroll 4
  for (int32_t p = 0; p < Pixels; ++p)
    _mm512_mask_storeu_ps(args.output + static_cast<size_t>(pixel + p) * args.output_stride + first, mask,
                          finish(acc[p], args.clamp));
}

template <int32_t Pixels>
void all_channels(const DwconvF32Args& args, int32_t pixel) {
  int32_t first = 0;
  for (; first + kLanes <= args.channels; first += kLanes)
    block<Pixels>(args, pixel, first, static_cast<__mmask16>(0xffff));
  if (first < args.channels)
    block<Pixels>(args, pixel, first, static_cast<__mmask16>((1u << (args.channels - first)) - 1u));
}

}  // namespace

void dwconv_f32_avx512vnni(const DwconvF32Args& args);

void dwconv_f32_avx512vnni(const DwconvF32Args& args) {
  int32_t p = 0;
  for (; p + 4 <= args.pixels; p += 4) all_channels<4>(args, p);
  for (; p < args.pixels; ++p) all_channels<1>(args, p);
}

}  // namespace intaglio
