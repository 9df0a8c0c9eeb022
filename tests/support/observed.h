// The state of an observer behind some samples.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "calibrator/observe/observer.h"
#include "intaglio/platform.h"
#include "tests/support/own_observer.h"

namespace intaglio::test {

// Samples in turn of the first and the second half. `chunks`: how many values each call is given, over and over.
inline std::unique_ptr<OwnObserver> observed(const std::vector<std::vector<float>>& samples,
                                             const std::vector<size_t>& chunks = {}, int32_t bins = kBins) {
  auto observer = std::make_unique<OwnObserver>(bins);
  const auto spare = std::make_unique<OwnObserver>(bins);
  for (size_t i = 0; i < samples.size(); ++i) {
    const std::vector<float>& sample = samples[i];
    TensorPass look(observer.get(), sample.size(), static_cast<int32_t>(i % 2),
                    {observe_f32_best(cpu_isa()), *spare});
    size_t at = 0;
    for (size_t k = 0; at < sample.size(); ++k) {
      const size_t size =
          chunks.empty() ? sample.size() : std::min(chunks[k % chunks.size()], sample.size() - at);
      REQUIRE(look.add({sample.data() + at, size}));
      at += size;
    }
    look.finish();
  }
  return observer;
}

}  // namespace intaglio::test
