// FP32 sums as docs/arithmetic.md has them: from the top down, unlike the kernels.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace intaglio::test {

inline float chain_of(const float* terms, size_t n) {
  float sum = 0.0f;
  for (size_t i = 0; i < n; ++i) sum = sum + terms[i];
  return sum;
}

inline float sum_of(std::vector<float> terms, int32_t block) {
  const auto most = static_cast<size_t>(block);
  while (terms.size() > most) {
    std::vector<float> sums;
    for (size_t i = 0; i < terms.size(); i += most)
      sums.push_back(chain_of(&terms[i], std::min(most, terms.size() - i)));
    terms = sums;
  }
  return chain_of(terms.data(), terms.size());
}

}  // namespace intaglio::test
