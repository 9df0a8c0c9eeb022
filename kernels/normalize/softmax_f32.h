// Softmax of one row, FP32.
//
//   m = max(max(x[0], x[1]), x[2]) ..., max(a, b) = a > b ? a : b
//   e[i] = exp_f32(x[i] - m); sum = 0 + e[0] + e[1] + ..., one rounding each; y[i] = e[i] / sum
//
// Where an element is NaN or +inf, or all are -inf, all results are NaN; so the order of the maxima, and
// which zero is the largest, is free. Results are canonical. y may be x.
#pragma once

#include <cstdint>

#include "intaglio/isa.h"

namespace intaglio {

struct SoftmaxF32Kernel {
  const char* name;
  IsaMask isa;
  void (*function)(const float* x, float* y, int32_t n);  // nullptr where this build has not compiled it
};

// Best first. The scalar kernel is the last one.
int32_t softmax_f32_count();
const SoftmaxF32Kernel& softmax_f32_kernel(int32_t index);
// The first that `isa` allows, compiled or not: here pass cpu_isa() & kCompiledIsa.
int32_t softmax_f32_select(IsaMask isa);

}  // namespace intaglio
