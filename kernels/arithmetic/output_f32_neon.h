// output_f32.h on vectors of four. AArch64 alone: ARMv7's vectors flush subnormals.
#pragma once

#include <arm_neon.h>

#include "kernels/arithmetic/output_f32.h"

#if defined(__aarch64__)

namespace intaglio {
namespace {

// finish_f32. Maximum and minimum pass a NaN on.
class FinishF32 {
 public:
  explicit FinishF32(const ClampF32& clamp)
      : lo_(vdupq_n_f32(clamp.lo)),
        hi_(vdupq_n_f32(clamp.hi)),
        zero_(vdupq_n_f32(0.0f)),
        nan_(vreinterpretq_f32_u32(vdupq_n_u32(0x7fc00000u))) {}

  float32x4_t operator()(float32x4_t v) const {
    return vbslq_f32(vceqq_f32(v, v), vaddq_f32(vminq_f32(vmaxq_f32(v, lo_), hi_), zero_), nan_);
  }

 private:
  float32x4_t lo_, hi_, zero_, nan_;
};

}  // namespace
}  // namespace intaglio

#endif
