// Sixteen at a time; the last ones overlap those before. ARMv7's vectors flush subnormals and cannot divide:
// VFP divides there, and a subnormal quotient rounds to nothing in any case.
#include "kernels/arithmetic/requant_neon.h"
#include "kernels/quantize/quantize_s8_runs.h"

namespace intaglio {

void quantize_s8_neon(const float* x, float scale, const OutputS8& output, int8_t* y, int32_t n);
void dequantize_s8_neon(const int8_t* x, float scale, int32_t zero_point, float* y, int32_t n);

namespace {

constexpr int32_t kLanes = 16;

}  // namespace

// Conversions make NaN nothing, so that zero_point is left of it, but for a clamp.
void quantize_s8_neon(const float* x, float scale, const OutputS8& output, int8_t* y, int32_t n) {
  if (n < kLanes || output.lo_minus_zero_point > 0.0f || output.hi_minus_zero_point < 0.0f)
    return quantize_s8_scalar(x, scale, output, y, n);
  const OutputNeon o = make_output_neon(output);
#if defined(__aarch64__)
  const float32x4_t divisor = vdupq_n_f32(scale);
#endif
  for_each_run<kLanes>(n, [&](ptrdiff_t i) {
#if defined(__aarch64__)
    const auto quotients = [&](ptrdiff_t from) { return vdivq_f32(vld1q_f32(x + i + from), divisor); };
#else
    float block[kLanes];
    for (int32_t j = 0; j < kLanes; ++j) block[j] = x[i + j] / scale;
    const auto quotients = [&](ptrdiff_t from) { return vld1q_f32(block + from); };
#endif
    vst1q_s8(y + i, codes_neon(quotients(0), quotients(4), quotients(8), quotients(12), o));
  });
}

void dequantize_s8_neon(const int8_t* x, float scale, int32_t zero_point, float* y, int32_t n) {
  if (n < kLanes) return dequantize_s8_scalar(x, scale, zero_point, y, n);
  const int8x8_t zero = vdup_n_s8(static_cast<int8_t>(zero_point));
  for_each_run<kLanes>(n, [&](ptrdiff_t i) {
    const int8x16_t q = vld1q_s8(x + i);
    const int16x8_t halves[2] = {vsubl_s8(vget_low_s8(q), zero), vsubl_s8(vget_high_s8(q), zero)};
#pragma GCC unroll 2
    for (int32_t h = 0; h < 2; ++h) {
      vst1q_f32(y + i + 8 * h, vmulq_n_f32(vcvtq_f32_s32(vmovl_s16(vget_low_s16(halves[h]))), scale));
      vst1q_f32(y + i + 8 * h + 4, vmulq_n_f32(vcvtq_f32_s32(vmovl_s16(vget_high_s16(halves[h]))), scale));
    }
  });
}

}  // namespace intaglio
