// Softmax of one row, FP32.
//
//   m = max(max(x[0], x[1]), x[2]) ..., max(a, b) = a > b ? a : b
//   e[i] = exp_f32(x[i] - m); sum = 0 + e[0] + e[1] + ..., one rounding each; y[i] = e[i] / sum
//
// Where an element is NaN or +inf, or all are -inf, all results are NaN. Results are canonical. y may be x.
#pragma once

#include <cstdint>

namespace intaglio {

void softmax_f32(const float* x, float* y, int32_t n);

}  // namespace intaglio
