// Depthwise convolutions in FP32: of a few pixels, and of whole lines.
#include <immintrin.h>

#include "kernels/arithmetic/output_f32_avx512.h"
#include "kernels/dwconv/dwconv_f32.h"
#include "kernels/dwconv/dwconv_lines_f32_tiles.h"

namespace intaglio {
namespace {

// Sixteen channels of up to seven pixels at a time: seven chains in flight, one load of the weights for all.

constexpr int32_t kChannelLanes = 16;

template <int32_t Pixels>
void all_channels(const DwconvF32Args& args, int32_t pixel) {
  const FinishF32 finish(args.clamp);
  const ptrdiff_t taps = args.taps, channels = args.channels;
  const float* const* const rows = args.rows + pixel * taps;
  float* const output = args.output + static_cast<size_t>(pixel) * args.output_stride;
  const float* const* row[Pixels];
  float* y[Pixels];
#pragma GCC unroll 7
  for (int32_t p = 0; p < Pixels; ++p) {
    row[p] = rows + p * taps;
    y[p] = output + static_cast<size_t>(p) * args.output_stride;
  }
  for (ptrdiff_t first = 0; first < channels; first += kChannelLanes) {
    const __mmask16 mask = first_lanes(static_cast<int32_t>(channels - first));
    __m512 acc[Pixels];
    acc[0] = args.bias != nullptr ? _mm512_maskz_loadu_ps(mask, args.bias + first) : _mm512_setzero_ps();
#pragma GCC unroll 7
    for (int32_t p = 1; p < Pixels; ++p) acc[p] = acc[0];
    const float* w = args.weights + first;
    for (ptrdiff_t t = 0; t < taps; ++t, w += channels) {
      const __m512 weights = _mm512_maskz_loadu_ps(mask, w);
#pragma GCC unroll 7
      for (int32_t p = 0; p < Pixels; ++p)
        acc[p] = _mm512_fmadd_ps(_mm512_maskz_loadu_ps(mask, row[p][t] + first), weights, acc[p]);
    }
#pragma GCC unroll 7
    for (int32_t p = 0; p < Pixels; ++p) _mm512_mask_storeu_ps(y[p] + first, mask, finish(acc[p]));
  }
}

}  // namespace

void dwconv_f32_avx512vnni(const DwconvF32Args& args);

void dwconv_f32_avx512vnni(const DwconvF32Args& args) {
  int32_t p = 0;
  for (; p + 7 <= args.pixels; p += 7) all_channels<7>(args, p);
  for (; p < args.pixels; ++p) all_channels<1>(args, p);
}

namespace {

struct Sixteen {
  using Register = __m512;
  using Finish = FinishF32;
  static constexpr int32_t kLanes = 16, kLines = 2;
  static constexpr bool kBranches = true, kClamps = false;

  static Register load(const float* from) { return _mm512_loadu_ps(from); }
  static void store(float* to, Register v) { _mm512_storeu_ps(to, v); }
  static Register zero() { return _mm512_setzero_ps(); }
  static Register multiply_add(Register a, Register b, Register c) { return _mm512_fmadd_ps(a, b, c); }
};

}  // namespace

void dwconv_lines_f32_avx512vnni(const DwconvLinesF32Args& args);

void dwconv_lines_f32_avx512vnni(const DwconvLinesF32Args& args) { dwconv_lines<Sixteen>(args); }

}  // namespace intaglio
