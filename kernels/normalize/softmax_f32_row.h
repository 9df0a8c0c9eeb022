// The loop of softmax.h, for the file of each instruction set: compilers vectorise all but the sum, whose
// order is the contract.
#pragma once

#include "kernels/arithmetic/functions_f32.h"
#include "kernels/normalize/softmax.h"

namespace intaglio {

static inline float largest_f32(const float* x, int32_t n) {
  constexpr int32_t kLanes = 16;
  float largest = x[0];
  int32_t i = 0;
  if (n >= kLanes) {
    float lanes[kLanes];
    memcpy(lanes, x, sizeof lanes);
    for (i = kLanes; i + kLanes <= n; i += kLanes)
      for (int32_t j = 0; j < kLanes; ++j) lanes[j] = lanes[j] > x[i + j] ? lanes[j] : x[i + j];
    for (int32_t j = 0; j < kLanes; ++j) largest = largest > lanes[j] ? largest : lanes[j];
  }
  for (; i < n; ++i) largest = largest > x[i] ? largest : x[i];
  return largest;
}

static inline void softmax_row_f32(const float* x, float* y, int32_t n, int32_t block) {
  constexpr int32_t kValues = 64;
  const float largest = largest_f32(x, n);
  const float sum = sum_in_blocks(n, block, [=](int32_t i, int32_t end) {
    float part = 0.0f;
    for (; i + kValues <= end; i += kValues) {  // by way of an array, as y may be x
      float values[kValues];
      for (int32_t j = 0; j < kValues; ++j) values[j] = exp_f32(x[i + j] - largest);
      for (int32_t j = 0; j < kValues; ++j) part += values[j];
      memcpy(y + i, values, sizeof values);
    }
    for (; i < end; ++i) {
      y[i] = exp_f32(x[i] - largest);
      part += y[i];
    }
    return part;
  });
  for (int32_t i = 0; i < n; ++i) y[i] = canonical_f32(y[i] / sum);
}

}  // namespace intaglio
