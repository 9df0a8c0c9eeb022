// Depthwise convolutions in FP32: of a few pixels, and of whole lines.
#include <immintrin.h>

#include "kernels/arithmetic/output_f32_avx2.h"
#include "kernels/dwconv/dwconv_f32.h"
#include "kernels/dwconv/dwconv_lines_f32_tiles.h"

namespace intaglio {
namespace {

// Eight channels of up to four pixels at a time: four chains in flight, one load of the weights for all.

inline __m256 load_channels(const float* p, bool full, __m256i mask) {
  return full ? _mm256_loadu_ps(p) : _mm256_maskload_ps(p, mask);
}

template <int32_t Pixels>
void block(const DwconvF32Args& args, int32_t pixel, int32_t first, bool full) {
  const __m256i mask = first_lanes(args.channels - first);
  const float* const* const rows = args.rows + static_cast<ptrdiff_t>(pixel) * args.taps;
  __m256 acc[Pixels];
  acc[0] = args.bias != nullptr ? load_channels(args.bias + first, full, mask) : _mm256_setzero_ps();
#pragma GCC unroll 4
  for (int32_t p = 1; p < Pixels; ++p) acc[p] = acc[0];
  const float* w = args.weights + first;
  for (int32_t t = 0; t < args.taps; ++t) {
    const __m256 weights = load_channels(w, full, mask);
#pragma GCC unroll 4
    for (int32_t p = 0; p < Pixels; ++p)
      acc[p] = _mm256_fmadd_ps(load_channels(rows[p * args.taps + t] + first, full, mask), weights, acc[p]);
    w += args.channels;
  }
#pragma GCC unroll 4
  for (int32_t p = 0; p < Pixels; ++p) {
    float* const y = args.output + static_cast<size_t>(pixel + p) * args.output_stride + first;
    const __m256 v = FinishF32(args.clamp)(acc[p]);
    if (full) {
      _mm256_storeu_ps(y, v);
    } else {
      _mm256_maskstore_ps(y, mask, v);
    }
  }
}

template <int32_t Pixels>
void all_channels(const DwconvF32Args& args, int32_t pixel) {
  int32_t first = 0;
  for (; first + 8 <= args.channels; first += 8) block<Pixels>(args, pixel, first, true);
  if (first < args.channels) block<Pixels>(args, pixel, first, false);
}

}  // namespace

void dwconv_f32_avx2(const DwconvF32Args& args);

void dwconv_f32_avx2(const DwconvF32Args& args) {
  int32_t p = 0;
  for (; p + 4 <= args.pixels; p += 4) all_channels<4>(args, p);
  for (; p < args.pixels; ++p) all_channels<1>(args, p);
}

namespace {

struct Eight {
  using Register = __m256;
  using Finish = FinishF32;
  static constexpr int32_t kLanes = 8, kLines = 1;
  static constexpr bool kBranches = true, kClamps = false;

  static Register load(const float* from) { return _mm256_loadu_ps(from); }
  static void store(float* to, Register v) { _mm256_storeu_ps(to, v); }
  static Register zero() { return _mm256_setzero_ps(); }
  static Register multiply_add(Register a, Register b, Register c) { return _mm256_fmadd_ps(a, b, c); }
};

}  // namespace

void dwconv_lines_f32_avx2(const DwconvLinesF32Args& args);

void dwconv_lines_f32_avx2(const DwconvLinesF32Args& args) { dwconv_lines<Eight>(args); }

}  // namespace intaglio
