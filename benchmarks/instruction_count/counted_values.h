// Values that counted_run's kernels read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "intaglio/span.h"

constexpr int32_t kSide = 14, kChannels = 128, kTaps = 9;  // of a depthwise convolution, 3x3, stride 1

// Any numbers will do; weights of -128 do not occur, as in a calibrated model.
inline int8_t code(size_t i) {
  return static_cast<int8_t>(static_cast<int32_t>(i * 2654435761u >> 8) % 255 - 127);
}
inline int16_t wide_code(size_t i) {
  return static_cast<int16_t>(static_cast<int32_t>(i * 2654435761u >> 8) % 65535 - 32767);
}
inline float real(size_t i) { return static_cast<float>(code(i)) / 64.0f; }

template <typename T>
std::vector<T> filled(size_t count, T (*value)(size_t)) {
  std::vector<T> v(count);
  for (size_t i = 0; i < count; ++i) v[i] = value(i);
  return v;
}

// Runs the kernel `name`, an ISA's of a family without weights, so many times (counted_rows.cc); the elements
// that it reads, 0 where there is none of that name.
int64_t run_rows(const char* name, int32_t runs);

namespace intaglio {
class Model;
}
// Calibrates (counted_calibration.cc); the bytes of the int8 model, 0 where that fails.
int64_t run_calibration(const intaglio::Model& model, int32_t samples,
                        intaglio::Span<const char* const> words);
