// The form in which FP32 results leave a kernel: one NaN and one zero, the same bits on every machine.
#pragma once

#include <cstdint>
#include <cstring>

#if defined(__FAST_MATH__)
#error "intaglio's results are exact to the bit: build it without -ffast-math"
#endif

namespace intaglio {

static inline float f32_from_bits(uint32_t bits) {
  float v;
  memcpy(&v, &bits, sizeof v);
  return v;
}

// NaN becomes 7FC00000 whatever its sign and payload were; -0 becomes +0.
static inline float canonical_f32(float v) { return v == v ? v + 0.0f : f32_from_bits(0x7fc00000u); }

// A fused activation: max(v, lo), then min with hi, as the contract defines them; NaN becomes lo.
struct ClampF32 {
  float lo, hi;
};

static inline float clamp_f32(float v, const ClampF32& clamp) {
  v = v > clamp.lo ? v : clamp.lo;
  v = v < clamp.hi ? v : clamp.hi;
  return canonical_f32(v);
}

}  // namespace intaglio
