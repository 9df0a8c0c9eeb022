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

static inline void softmax_row_f32(const float* x, float* y, int32_t n) {
  constexpr int32_t kBlock = 64;
  const float largest = largest_f32(x, n);
  float sum = 0.0f;
  int32_t i = 0;
  for (; i + kBlock <= n; i += kBlock) {  // blocks, as y may be x
    float block[kBlock];
    for (int32_t j = 0; j < kBlock; ++j) block[j] = exp_f32(x[i + j] - largest);
    for (int32_t j = 0; j < kBlock; ++j) sum += block[j];
    memcpy(y + i, block, sizeof block);
  }
  for (; i < n; ++i) {
    y[i] = exp_f32(x[i] - largest);
    sum += y[i];
  }
  for (i = 0; i < n; ++i) y[i] = canonical_f32(y[i] / sum);
}

}  // namespace intaglio
