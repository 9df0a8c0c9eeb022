// AArch64: channels in vectors, the last of which overlaps the one before. ARMv7's vectors flush subnormals:
// the scalar kernel serves there.
#include "kernels/arithmetic/output_f32_neon.h"
#include "kernels/pool/pool_f32.h"

namespace intaglio {

AverageF32 average_f32_neon, average_f32_scalar;
MaxF32 max_f32_neon, max_f32_scalar;

#if defined(__aarch64__)

namespace {

constexpr int32_t kLanes = 4;

struct TapSum {
  static float32x4_t start(float32x4_t) { return vdupq_n_f32(0.0f); }
  static float32x4_t next(float32x4_t sum, float32x4_t tap) { return vaddq_f32(sum, tap); }
};

// Meeting the first tap again changes nothing.
struct TapMaximum {
  static float32x4_t start(float32x4_t first) { return first; }
  static float32x4_t next(float32x4_t best, float32x4_t tap) {
    return vbslq_f32(vcgtq_f32(best, tap), best, tap);
  }
};

// 4 * Vectors channels.
template <typename Fold, int32_t Vectors, typename End>
inline void pool_vectors(const float* x, const Taps& taps, float* y, End end) {
  float32x4_t folded[Vectors];
#pragma GCC unroll 4
  for (int32_t v = 0; v < Vectors; ++v) folded[v] = Fold::start(vld1q_f32(x + kLanes * v));
  for_each_tap(taps, [&](ptrdiff_t offset) {
#pragma GCC unroll 4
    for (int32_t v = 0; v < Vectors; ++v)
      folded[v] = Fold::next(folded[v], vld1q_f32(x + offset + kLanes * v));
  });
#pragma GCC unroll 4
  for (int32_t v = 0; v < Vectors; ++v) vst1q_f32(y + kLanes * v, end(folded[v]));
}

// A vector of channels at least.
template <typename Fold, typename End>
__attribute__((noinline)) void pool_channels(const float* x, const Taps& taps, float* y, int32_t channels,
                                             End end) {
  int32_t c = 0;
  for (; c + 4 * kLanes <= channels; c += 4 * kLanes) pool_vectors<Fold, 4>(x + c, taps, y + c, end);
  for (; c < channels; c += kLanes) {
    const int32_t from = c + kLanes <= channels ? c : channels - kLanes;
    pool_vectors<Fold, 1>(x + from, taps, y + from, end);
  }
}

bool in_vectors(const Taps& taps, int32_t channels) { return channels >= kLanes && taps_count(taps) > 0; }

}  // namespace

void average_f32_neon(const float* x, const Taps& taps, int32_t n, const ClampF32& clamp, float* y,
                      int32_t channels) {
  if (!in_vectors(taps, channels)) return average_f32_scalar(x, taps, n, clamp, y, channels);
  const DefaultNan mode;
  const FinishF32 finish(clamp);
  const float32x4_t divisor = vdupq_n_f32(static_cast<float>(n));
  pool_channels<TapSum>(x, taps, y, channels,
                        [&](float32x4_t sum) { return finish(vdivq_f32(sum, divisor)); });
}

void max_f32_neon(const float* x, const Taps& taps, const ClampF32& clamp, float* y, int32_t channels) {
  if (!in_vectors(taps, channels)) return max_f32_scalar(x, taps, clamp, y, channels);
  const DefaultNan mode;
  pool_channels<TapMaximum>(x, taps, y, channels, FinishF32(clamp));
}

#else

void average_f32_neon(const float* x, const Taps& taps, int32_t n, const ClampF32& clamp, float* y,
                      int32_t channels) {
  average_f32_scalar(x, taps, n, clamp, y, channels);
}

void max_f32_neon(const float* x, const Taps& taps, const ClampF32& clamp, float* y, int32_t channels) {
  max_f32_scalar(x, taps, clamp, y, channels);
}

#endif

}  // namespace intaglio
