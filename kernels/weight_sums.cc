#include "kernels/weight_sums.h"

namespace intaglio {

WeightSums sum_weights(const int8_t* w, int64_t n) {
  constexpr int32_t kBlock = 64;  // a known count: compilers vectorise it
  WeightSums s = {0, 0};
  int64_t i = 0;
  for (; i + kBlock <= n; i += kBlock, w += kBlock) {
    int32_t sum = 0, magnitude = 0;
    for (int32_t j = 0; j < kBlock; ++j) {
      sum += w[j];
      magnitude += w[j] < 0 ? -w[j] : w[j];
    }
    s.sum += sum;
    s.magnitude += magnitude;
  }
  for (; i < n; ++i, ++w) {
    s.sum += *w;
    s.magnitude += *w < 0 ? -*w : *w;
  }
  return s;
}

}  // namespace intaglio
