#include "kernels/arithmetic/blocked_sum.h"

namespace intaglio {

void add_block(int32_t blocks, float* block, float* levels, int32_t lanes) {
  for (;; block = levels, levels += lanes, blocks /= kSumBlock) {
    for (int32_t i = 0; i < lanes; ++i) {
      levels[i] = blocks == 1 ? block[i] : levels[i] + block[i];
      block[i] = 0.0f;
    }
    if (blocks % kSumBlock != 0) return;
  }
}

void add_levels(int32_t blocks, float* block, float* levels, int32_t lanes) {
  for (; blocks > 0; blocks /= kSumBlock, levels += lanes)
    for (int32_t i = 0; i < lanes; ++i) block[i] += levels[i];
}

}  // namespace intaglio
