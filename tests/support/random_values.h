// Random operands for kernel tests: the same on every machine, which <random>'s distributions are not.
#pragma once

#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

namespace intaglio::test {

class RandomValues {
 public:
  explicit RandomValues(uint32_t seed) : engine_(seed) {}

  // In [lo, hi].
  int32_t integer(int32_t lo, int32_t hi) {
    const auto range = static_cast<uint64_t>(int64_t{hi} - lo + 1);
    return static_cast<int32_t>(lo + static_cast<int64_t>(engine_() * range >> 32));
  }
  // In [lo, hi), 24 random bits.
  float real(float lo, float hi) { return lo + (hi - lo) * (static_cast<float>(engine_() >> 8) * 0x1p-24f); }
  std::vector<int8_t> codes(size_t count, int32_t lo = -128, int32_t hi = 127) {
    std::vector<int8_t> values(count);
    for (int8_t& v : values) v = static_cast<int8_t>(integer(lo, hi));
    return values;
  }
  std::vector<float> reals(size_t count, float lo, float hi) {
    std::vector<float> values(count);
    for (float& v : values) v = real(lo, hi);
    return values;
  }

 private:
  std::mt19937 engine_;
};

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
