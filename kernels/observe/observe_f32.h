// The statistics of an observer: the extremes of real values, and the bins of a histogram that they fall into.
//
//   min    = min(0, x[i]...), max = max(0, x[i]...)
//   finite : no x[i] is infinite or NaN; else the two mean nothing
//   bin(x) = zero + floor(x * per_bin), exactly: per_bin is a power of two. What is negative and vanishes in
//            that product belongs to the bin below zero.
#pragma once

#include <cstddef>
#include <cstdint>

#include "intaglio/isa.h"

namespace intaglio {

struct ExtremesF32 {
  float min = 0.0f, max = 0.0f;
  bool finite = true;
};

// Counts are in two histograms, so that a bin's additions do not wait for each other. Only the sum counts.
struct BinsF32 {
  float per_bin;
  int32_t zero;
  uint32_t *counts, *more;
};

// A function is nullptr where this build has not compiled it.
struct ObserveF32Kernel {
  const char* name;
  IsaMask isa;
  // The extremes of x [n] and of what `seen` holds.
  void (*extremes)(const float* x, size_t n, ExtremesF32* seen);
  // Counts x[0], x[stride], ..., `n` of them, all finite and with bins that the histograms have.
  void (*count)(const float* x, size_t n, size_t stride, const BinsF32& bins);
};

// Best first. The scalar kernel is the last one.
int32_t observe_f32_count();
const ObserveF32Kernel& observe_f32_kernel(int32_t index);
// The best one that `isa` allows and this build has compiled: pass cpu_isa(). No plan for another machine
// names one.
const ObserveF32Kernel& observe_f32_best(IsaMask isa);

}  // namespace intaglio
