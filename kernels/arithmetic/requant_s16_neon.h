// requant_s16.h on four lanes. `inline` would leave weak symbols: static.
#pragma once

#include <arm_neon.h>

#include "kernels/arithmetic/requant_s16.h"

namespace intaglio {

static inline int16x4_t neon_requantize_s16(int32x4_t sums, float32x4_t multiplier, const OutputS16& output) {
  const float32x4_t magic = vdupq_n_f32(12582912.0f);  // as in round_half_even()
  float32x4_t v = vmulq_f32(vcvtq_f32_s32(sums), multiplier);
  v = vminq_f32(vmaxq_f32(v, vdupq_n_f32(output.lo)), vdupq_n_f32(output.hi));
  const int32x4_t bits = vreinterpretq_s32_f32(vaddq_f32(v, magic));
  return vmovn_s32(vsubq_s32(bits, vreinterpretq_s32_f32(magic)));
}

}  // namespace intaglio
