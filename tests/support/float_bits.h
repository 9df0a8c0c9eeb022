// Floats by their bits: NaN and the sign of zero count.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "kernels/arithmetic/output_f32.h"

namespace intaglio::test {

inline uint32_t bits_of(float v) {
  uint32_t bits;
  memcpy(&bits, &v, sizeof bits);
  return bits;
}

// Bits of a kernel's output for the exact sum `v`: one NaN, no negative zero (docs/arithmetic.md).
inline uint32_t clamped_bits(float v, const ClampF32& clamp) {
  if (std::isnan(v)) return 0x7fc00000u;
  v = v > clamp.lo ? v : clamp.lo;
  v = v < clamp.hi ? v : clamp.hi;
  return v == 0.0f ? 0 : bits_of(v);
}

inline std::vector<uint32_t> bits_of(const std::vector<float>& values) {
  std::vector<uint32_t> bits;
  bits.reserve(values.size());
  for (const float v : values) bits.push_back(bits_of(v));
  return bits;
}

}  // namespace intaglio::test
