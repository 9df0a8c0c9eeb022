// Extremes in integers: as int32 positive reals are in their own order and above all negative ones, as
// uint32 negative ones do. So ARMv7's vectors, which flush subnormals, find them, too.
#include <arm_neon.h>

#include "kernels/arithmetic/canonical_f32.h"
#include "kernels/observe/observe_f32_loops.h"

namespace intaglio {

void extremes_f32_neon(const float* x, size_t n, ExtremesF32* seen);
void extremes_f32_scalar(const float* x, size_t n, ExtremesF32* seen);
void count_f32_neon(const float* x, size_t n, size_t stride, const BinsF32& bins);
void count_f32_scalar(const float* x, size_t n, size_t stride, const BinsF32& bins);

void extremes_f32_neon(const float* x, size_t n, ExtremesF32* seen) {
  constexpr size_t kLanes = 4, kVectors = 4;
  constexpr uint32_t kMinusZero = 0x80000000u, kInfinite = 0x7f800000u;
  int32x4_t max[kVectors];
  uint32x4_t min[kVectors];
#pragma GCC unroll 4
  for (size_t v = 0; v < kVectors; ++v) {
    max[v] = vdupq_n_s32(0);
    min[v] = vdupq_n_u32(kMinusZero);
  }
  size_t i = 0;
  for (; i + kVectors * kLanes <= n; i += kVectors * kLanes)
#pragma GCC unroll 4
    for (size_t v = 0; v < kVectors; ++v) {
      const float32x4_t values = vld1q_f32(x + i + v * kLanes);
      max[v] = vmaxq_s32(max[v], vreinterpretq_s32_f32(values));
      min[v] = vmaxq_u32(min[v], vreinterpretq_u32_f32(values));
    }
  int32_t most[kLanes];
  uint32_t least[kLanes];
  vst1q_s32(most, vmaxq_s32(vmaxq_s32(max[0], max[1]), vmaxq_s32(max[2], max[3])));
  vst1q_u32(least, vmaxq_u32(vmaxq_u32(min[0], min[1]), vmaxq_u32(min[2], min[3])));
  for (size_t lane = 0; lane < kLanes; ++lane) {
    const float largest = f32_from_bits(static_cast<uint32_t>(most[lane])),
                smallest = f32_from_bits(least[lane]);
    seen->max = largest > seen->max ? largest : seen->max;
    seen->min = smallest < seen->min ? smallest : seen->min;
    seen->finite = seen->finite && static_cast<uint32_t>(most[lane]) < kInfinite &&
                   least[lane] < (kMinusZero | kInfinite);
  }
  extremes_f32_scalar(x + i, n - i, seen);
}

#if defined(__aarch64__)
void count_f32_neon(const float* x, size_t n, size_t stride, const BinsF32& bins) {
  constexpr size_t kLanes = 8, kBlock = 256;
  float gathered[kBlock];
  int32_t bin[kBlock];
  const float32x4_t per_bin = vdupq_n_f32(bins.per_bin);
  const int32x4_t zero = vdupq_n_s32(bins.zero);
  const auto found = [&](float32x4_t values) {
    const float32x4_t position = vmulq_f32(values, per_bin);
    const uint32x4_t vanished = vandq_u32(vcltzq_f32(values), vceqzq_f32(position));
    // True is -1.
    return vaddq_s32(vaddq_s32(vcvtmq_s32_f32(position), zero), vreinterpretq_s32_u32(vanished));
  };
  size_t first = 0;
  for (size_t count; (count = (n - first < kBlock ? n - first : kBlock) / kLanes * kLanes) > 0;
       first += count) {
    const float* block = x + first * stride;
    if (stride != 1) {
      for (size_t i = 0; i < count; ++i) gathered[i] = block[i * stride];
      block = gathered;
    }
    for (size_t i = 0; i < count; i += kLanes) {
      vst1q_s32(bin + i, found(vld1q_f32(block + i)));
      vst1q_s32(bin + i + 4, found(vld1q_f32(block + i + 4)));
    }
    count_bins(bin, count, bins);
  }
  if (first < n) count_f32_scalar(x + first * stride, n - first, stride, bins);
}
#else
void count_f32_neon(const float* x, size_t n, size_t stride, const BinsF32& bins) {
  count_f32_scalar(x, n, stride, bins);
}
#endif

}  // namespace intaglio
