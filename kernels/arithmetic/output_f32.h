// FP32 results are canonical: one NaN and one zero, the same bits on every machine.
#pragma once

#include <cstdint>
#include <cstring>

#include "kernels/arithmetic/ieee_float.h"

namespace intaglio {

static inline float f32_from_bits(uint32_t bits) {
  float v;
  memcpy(&v, &bits, sizeof v);
  return v;
}

// NaN becomes 7FC00000 whatever its sign and payload were; -0 becomes +0.
static inline float canonical_f32(float v) { return v == v ? v + 0.0f : f32_from_bits(0x7fc00000u); }

// A fused activation: the interval that a result is clamped to. See output_f32.h.
struct ClampF32 {
  float lo, hi;
};
constexpr ClampF32 kNoClamp = {-__builtin_inff(), __builtin_inff()};

// The end of an FP32 chain of multiply-adds: fused activation and the one NaN.

// min(max(v, lo), hi), max(a, b) = a > b ? a : b; -0 becomes +0. A NaN passes the clamp, as 7FC00000: a fault
// upstream stays visible.
static inline float finish_f32(float v, const ClampF32& clamp) {
  if (!(v == v)) return f32_from_bits(0x7fc00000u);
  v = v > clamp.lo ? v : clamp.lo;
  v = v < clamp.hi ? v : clamp.hi;
  return v + 0.0f;
}

}  // namespace intaglio
