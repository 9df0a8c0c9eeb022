#include "calibrator/ranges/sample_weights.h"

#include <initializer_list>

#include "calibrator/ranges/auto_rules.h"
#include "runtime/real_functions.h"

namespace intaglio {
namespace {

// Of the values in a block.
double mean_weight(const TensorObserver& o, int32_t half, int32_t block, uint64_t values) {
  uint64_t lower = values, weighted = 0;
  for (int32_t level = 0; level < kPowerLevels; ++level) {
    const uint64_t of_level = o.levels.counts[half][level][block];
    weighted += of_level << kAutoRules.weights.doublings * level;
    lower -= of_level;
  }
  weighted += lower << kAutoRules.weights.doublings * kPowerLevels;
  return static_cast<double>(weighted) / static_cast<double>(values);
}

}  // namespace

void weigh_samples(TensorObserver& o) {
  constexpr double kMost = 4294967295.0;
  const int32_t zero_block = o.two_sided != 0 ? kBlocks / 2 : 0;
  for (const int half : {0, 1})
    for (int32_t block = 0; block < kBlocks; ++block) {
      uint32_t* const counts = o.halves[half].counts + block * kBlockBins;
      uint64_t values = 0;
      for (int32_t i = 0; i < kBlockBins; ++i) values += counts[i];
      if (block == zero_block) values -= o.levels.zeros[half];
      if (values == 0) continue;
      const double weight = mean_weight(o, half, block, values);
      if (weight == 1.0) continue;
      for (int32_t i = 0; i < kBlockBins; ++i) {
        const double count = round_even(counts[i] * weight);
        counts[i] = static_cast<uint32_t>(count < kMost ? count : kMost);
      }
    }
}

}  // namespace intaglio
