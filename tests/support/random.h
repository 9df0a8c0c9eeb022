// Random numbers for tests: the same on every machine and run.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

#include "tests/support/exact.h"
#include "tests/support/sanitized.h"

namespace intaglio::test {

// The number that an environment variable gives; 0 without one.
inline int32_t environment_number(const char* name) {
  const char* const text = std::getenv(name);
  return text != nullptr ? std::atoi(text) : 0;
}

// INTAGLIO_SEED=N draws other numbers than usual.
class Random {
 public:
  explicit Random(uint32_t seed)
      : generator_(seed + 1000003u * static_cast<uint32_t>(environment_number("INTAGLIO_SEED"))) {}

  uint32_t bits() { return static_cast<uint32_t>(generator_()); }
  int32_t between(int32_t lo, int32_t hi) {  // both included
    return lo + static_cast<int32_t>(bits() % static_cast<uint32_t>(hi - lo + 1));
  }
  bool one_in(int32_t n) { return between(1, n) == 1; }
  float real(float lo, float hi) { return lo + (hi - lo) * static_cast<float>(bits() >> 8) * 0x1p-24f; }
  float any_float() {
    const uint32_t b = bits();
    float v;
    memcpy(&v, &b, sizeof v);
    return v;
  }
  std::vector<int8_t> codes(size_t count) {
    std::vector<int8_t> v(count);
    for (size_t i = 0; i < count; i += 4) {
      const uint32_t four = bits();
      memcpy(v.data() + i, &four, count - i < 4 ? count - i : 4);
    }
    return v;
  }
  std::vector<float> reals(size_t count, float lo, float hi) {
    std::vector<float> v(count);
    for (float& x : v) x = real(lo, hi);
    return v;
  }

 private:
  std::mt19937 generator_;
};

// How many random cases a test runs: INTAGLIO_SHAPES, or what lets it end in a few seconds. The address sanitizer takes ten
// times as long for each; what it alone sees shows in fewer.
inline int32_t shape_count(int32_t usual) {
  const int32_t count = environment_number("INTAGLIO_SHAPES");
  if (count > 0) return count;
  constexpr int32_t kMost = 500;
  return kIsSanitized ? std::min(usual, kMost) : usual;
}

}  // namespace intaglio::test
