// Extremes and histograms, and sums of patches.
#include <arm_neon.h>

#include "kernels/arithmetic/output_f32.h"
#include "kernels/observe/observe_loops.h"

namespace intaglio {

// Extremes in integers: as int32 positive reals are in their own order and above all negative ones, as
// uint32 negative ones do. So ARMv7's vectors, which flush subnormals, find them, too.

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

namespace {

#if defined(__aarch64__)
// Four doubles. ARMv7 has no vectors of them.
struct RealSums4 {
  using Element = float;
  struct Sums {
    float64x2_t low, high;
  };
  static constexpr int32_t kLanes = 4;

  static Sums zero() { return {vdupq_n_f64(0.0), vdupq_n_f64(0.0)}; }
  static Sums widen(const float* x) {
    const float32x4_t v = vld1q_f32(x);
    return {vcvt_f64_f32(vget_low_f32(v)), vcvt_high_f64_f32(v)};
  }
  static Sums add(Sums a, Sums b) { return {vaddq_f64(a.low, b.low), vaddq_f64(a.high, b.high)}; }
  static Sums subtract(Sums a, Sums b) { return {vsubq_f64(a.low, b.low), vsubq_f64(a.high, b.high)}; }
  static void add_to(double* to, Sums sums, double zeros) {
    const float64x2_t z = vdupq_n_f64(zeros);
    vst1q_f64(to, vaddq_f64(vld1q_f64(to), vsubq_f64(sums.low, z)));
    vst1q_f64(to + 2, vaddq_f64(vld1q_f64(to + 2), vsubq_f64(sums.high, z)));
  }
};
#endif

// Eight sums of codes.
struct CodeSums8 {
  using Element = int8_t;
  struct Sums {
    int32x4_t low, high;
  };
  static constexpr int32_t kLanes = 8;

  static Sums zero() { return {vdupq_n_s32(0), vdupq_n_s32(0)}; }
  static int16x8_t widen(const int8_t* x) { return vmovl_s8(vld1_s8(x)); }
  static Sums add(Sums a, int16x8_t x) {
    return {vaddw_s16(a.low, vget_low_s16(x)), vaddw_s16(a.high, vget_high_s16(x))};
  }
  static Sums subtract(Sums a, int16x8_t x) {
    return {vsubw_s16(a.low, vget_low_s16(x)), vsubw_s16(a.high, vget_high_s16(x))};
  }
  static void add_to(double* to, Sums sums, double zeros) {
    int32_t codes[kLanes];
    vst1q_s32(codes, sums.low);
    vst1q_s32(codes + 4, sums.high);
    for (int32_t l = 0; l < kLanes; ++l) to[l] += static_cast<double>(codes[l]) - zeros;
  }
};

}  // namespace

void patch_row_s8_neon(const PatchRow<int8_t>& row);
void patch_row_f32_neon(const PatchRow<float>& row);

void patch_row_s8_neon(const PatchRow<int8_t>& row) {
  patch_rest_s8_scalar(row, patch_row_vectors<PatchVectors<CodeSums8, 2>>(row, 0));
}

#if defined(__aarch64__)
void patch_row_f32_neon(const PatchRow<float>& row) {
  patch_rest_f32_scalar(row, patch_row_vectors<PatchVectors<RealSums4, 2>>(row, 0));
}
#else
void patch_row_f32_neon(const PatchRow<float>& row) { patch_rest_f32_scalar(row, 0); }
#endif

}  // namespace intaglio
