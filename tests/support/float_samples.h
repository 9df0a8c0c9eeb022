// FP32 samples for models with one input.
#pragma once

#include <cstring>
#include <vector>

#include "intaglio/calibrator.h"

namespace intaglio::test {

using Samples = std::vector<std::vector<float>>;

inline Span<const uint8_t> bytes_of(const std::vector<float>& sample) {
  return {reinterpret_cast<const uint8_t*>(sample.data()), sample.size() * sizeof(float)};
}

// The samples outlive it.
inline SampleSource source_of(const Samples& samples) {
  SampleSource source;
  source.context = const_cast<Samples*>(&samples);
  source.count = static_cast<int32_t>(samples.size());
  source.load = [](void* context, int32_t i, Span<const Span<uint8_t>> inputs) {
    const auto& sample = (*static_cast<const Samples*>(context))[static_cast<size_t>(i)];
    memcpy(inputs[0].data, sample.data(), inputs[0].size);
    return true;
  };
  return source;
}

}  // namespace intaglio::test
