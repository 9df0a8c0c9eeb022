// output_f32.h on vectors of four. AArch64 alone: ARMv7's vectors flush subnormals.
#pragma once

#include <arm_neon.h>

#include "kernels/arithmetic/output_f32.h"

#if defined(__aarch64__)

namespace intaglio {
namespace {

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

}  // namespace
}  // namespace intaglio

#endif
