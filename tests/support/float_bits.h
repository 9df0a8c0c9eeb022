// Floats by their bits: NaN and the sign of zero count.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

namespace intaglio::test {

inline uint32_t bits_of(float v) {
  uint32_t bits;
  memcpy(&bits, &v, sizeof bits);
  return bits;
}

inline std::vector<uint32_t> bits_of(const std::vector<float>& values) {
  std::vector<uint32_t> bits;
  bits.reserve(values.size());
  for (const float v : values) bits.push_back(bits_of(v));
  return bits;
}

}  // namespace intaglio::test
