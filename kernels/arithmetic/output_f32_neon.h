// output_f32.h on vectors of four. FinishF32 is for AArch64 alone: ARMv7's vectors flush subnormals.
#pragma once

#include <arm_neon.h>

#include <cstring>

#include "kernels/arithmetic/output_f32.h"

namespace intaglio {
namespace {

// finish_f32 of a sum times a positive multiplier: no NaN, no subnormal, and no -0 unless a limit is.
class FinishSums {
 public:
  explicit FinishSums(const ClampF32& clamp) : lo_(limit(clamp.lo)), hi_(limit(clamp.hi)) {}

  float32x4_t operator()(int32x4_t sum, float32x4_t multiplier) const {
    const float32x4_t v = vmulq_f32(vcvtq_f32_s32(sum), multiplier);
#if defined(__aarch64__)
    return vminq_f32(vmaxq_f32(v, lo_), hi_);
#else
    const int32x4_t bits = ordered(vreinterpretq_s32_f32(v));
    return vreinterpretq_f32_s32(ordered(vminq_s32(vmaxq_s32(bits, lo_), hi_)));
#endif
  }

 private:
#if defined(__aarch64__)
  using Limit = float32x4_t;
  static Limit limit(float v) { return vdupq_n_f32(v + 0.0f); }
#else
  // A limit may be subnormal, which is 0 to a comparison of vectors here. So bits are compared, as integers in the same order.
  using Limit = int32x4_t;
  static int32x4_t ordered(int32x4_t bits) {
    return veorq_s32(bits, vandq_s32(vshrq_n_s32(bits, 31), vdupq_n_s32(INT32_MAX)));
  }
  static Limit limit(float v) {
    v += 0.0f;
    int32_t bits;
    memcpy(&bits, &v, sizeof bits);
    return ordered(vdupq_n_s32(bits));
  }
#endif
  Limit lo_, hi_;
};

#if defined(__aarch64__)

// While it stands every NaN that arithmetic makes or passes on is 7FC00000, so that nothing need look for one. Code under it
// is a function of its own, not inlined: the compiler does not know that this matters to arithmetic.
class DefaultNan {
 public:
  DefaultNan() {
    __asm__ volatile("mrs %0, fpcr" : "=r"(saved_));
    __asm__ volatile("msr fpcr, %0" : : "r"(saved_ | uint64_t{1} << 25) : "memory");
  }
  ~DefaultNan() { __asm__ volatile("msr fpcr, %0" : : "r"(saved_) : "memory"); }
  DefaultNan(const DefaultNan&) = delete;
  DefaultNan& operator=(const DefaultNan&) = delete;

 private:
  uint64_t saved_;
};

// finish_f32 under a DefaultNan.
class FinishF32 {
 public:
  explicit FinishF32(const ClampF32& clamp)
      : lo_(vdupq_n_f32(clamp.lo)), hi_(vdupq_n_f32(clamp.hi)), zero_(vdupq_n_f32(0.0f)) {}

  float32x4_t operator()(float32x4_t v) const { return vaddq_f32(clamp(v), zero_); }

  // Whether clamp() alone gives the same: it leaves no -0.
  static bool is_clamp(const ClampF32& clamp) {
    return clamp.lo >= 0.0f && __builtin_signbit(clamp.lo) == 0 && clamp.hi > 0.0f;
  }
  float32x4_t clamp(float32x4_t v) const { return vminq_f32(vmaxq_f32(v, lo_), hi_); }

 private:
  float32x4_t lo_, hi_, zero_;
};

#endif

}  // namespace
}  // namespace intaglio
