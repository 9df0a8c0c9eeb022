#include <arm_neon.h>

#include "kernels/observe/patch_sums_rows.h"

namespace intaglio {
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
