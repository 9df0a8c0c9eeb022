// The end of an FP32 chain of multiply-adds: fused activation and the one NaN.
#pragma once

#include "kernels/arithmetic/canonical_f32.h"

namespace intaglio {

// min(max(v, lo), hi), max(a, b) = a > b ? a : b; -0 becomes +0. A NaN passes the clamp, as 7FC00000: a fault
// upstream stays visible.
static inline float finish_f32(float v, const ClampF32& clamp) {
  if (!(v == v)) return f32_from_bits(0x7fc00000u);
  v = v > clamp.lo ? v : clamp.lo;
  v = v < clamp.hi ? v : clamp.hi;
  return v + 0.0f;
}

}  // namespace intaglio
