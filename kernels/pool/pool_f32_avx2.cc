#include "kernels/arithmetic/output_f32_avx2.h"
#include "kernels/pool/pool_f32.h"

namespace intaglio {
namespace {

constexpr int32_t kLanes = 8;

struct Sum {
  static __m256 start(__m256) { return _mm256_setzero_ps(); }
  static __m256 next(__m256 sum, __m256 tap) { return _mm256_add_ps(sum, tap); }
};

// maxps gives its second operand where one is a NaN. Meeting the first tap again changes nothing.
struct Largest {
  static __m256 start(__m256 first) { return first; }
  static __m256 next(__m256 best, __m256 tap) { return _mm256_max_ps(best, tap); }
};

// 32 channels in four vectors, or the first `count` of sixteen in two.
template <typename Fold, int32_t Vectors, typename End>
void block(const float* x, const Taps& taps, float* y, int32_t count, End end) {
  constexpr bool kWhole = Vectors == 4;
  const __m256i masks[4] = {first_lanes(count), first_lanes(count - kLanes)};
  const auto load = [&](const float* from, int32_t v) {
    return kWhole ? _mm256_loadu_ps(from + kLanes * v) : _mm256_maskload_ps(from + kLanes * v, masks[v]);
  };
  __m256 folded[Vectors];
#pragma GCC unroll 4
  for (int32_t v = 0; v < Vectors; ++v) folded[v] = Fold::start(load(x, v));
  for_each_tap(taps, [&](ptrdiff_t offset) {
#pragma GCC unroll 4
    for (int32_t v = 0; v < Vectors; ++v) folded[v] = Fold::next(folded[v], load(x + offset, v));
  });
#pragma GCC unroll 4
  for (int32_t v = 0; v < Vectors; ++v) {
    if (kWhole) {
      _mm256_storeu_ps(y + kLanes * v, end(folded[v]));
    } else {
      _mm256_maskstore_ps(y + kLanes * v, masks[v], end(folded[v]));
    }
  }
}

template <typename Fold, typename End>
void all_channels(const float* x, const Taps& taps, float* y, int32_t channels, End end) {
  int32_t c = 0;
  for (; c + 4 * kLanes <= channels; c += 4 * kLanes) block<Fold, 4>(x + c, taps, y + c, 0, end);
  for (; c < channels; c += 2 * kLanes) block<Fold, 2>(x + c, taps, y + c, channels - c, end);
}

}  // namespace

AverageF32 average_f32_avx2;
MaxF32 max_f32_avx2;

void average_f32_avx2(const float* x, const Taps& taps, int32_t n, const ClampF32& clamp, float* y,
                      int32_t channels) {
  const FinishF32 finish(clamp);
  if (taps_count(taps) == 0) {
    for (int32_t c = 0; c < channels; ++c) y[c] = finish_f32(0.0f, clamp);
    return;
  }
  const __m256 divisor = _mm256_set1_ps(static_cast<float>(n));
  all_channels<Sum>(x, taps, y, channels, [&](__m256 sum) { return finish(_mm256_div_ps(sum, divisor)); });
}

void max_f32_avx2(const float* x, const Taps& taps, const ClampF32& clamp, float* y, int32_t channels) {
  const FinishF32 finish(clamp);
  if (taps_count(taps) == 0) {
    for (int32_t c = 0; c < channels; ++c) y[c] = finish_f32(0.0f, clamp);
    return;
  }
  all_channels<Largest>(x, taps, y, channels, finish);
}

}  // namespace intaglio
