// Codes of 16 bits for tests, and how a real becomes one by the definition.
#pragma once

#include <cmath>

#include "tests/support/model_builder.h"
#include "tests/support/random.h"

namespace intaglio::test {

inline std::vector<int16_t> draw_codes(Random& random, size_t count) {
  std::vector<int16_t> codes(count);
  for (int16_t& code : codes) code = static_cast<int16_t>(random.bits());
  return codes;
}

inline int16_t rounded(float v, int32_t lo = -32768, int32_t hi = 32767) {
  const auto real = static_cast<double>(v);
  return static_cast<int16_t>(
      std::nearbyint(std::fmin(std::fmax(real, static_cast<double>(lo)), static_cast<double>(hi))));
}

inline void clamp_to(GraphNode& node, int32_t lo, int32_t hi) {
  node.options.as<Clamp>().lo = lo;
  node.options.as<Clamp>().hi = hi;
}

}  // namespace intaglio::test
