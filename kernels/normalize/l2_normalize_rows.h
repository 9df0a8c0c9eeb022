// Rows divided by their Euclidean norm.
//
//   f32  sum = fma(x[n-1], x[n-1], ... fma(x[0], x[0], 0)), one chain in order; norm = max(sqrt(sum), min_norm)
//        y[i] = x[i] / norm; a row whose norm is 0 gives zeros
//   s8   norm = max(sqrt(float(sum of (x[i] - z)^2)), min_norm), an exact sum
//        y[i] = clamp(rne(float(x[i] - z) * (1 / (norm * s_out)))) + z_out; a row whose norm is 0 gives z_out
//
// sqrt is functions_f32.h's. x and y are [rows, n]; y may be x. In int8 n is at most 33025 and `min_norm` counts in
// steps of the input: f32(epsilon / s_in).
#pragma once

#include "kernels/arithmetic/requant.h"

namespace intaglio {

struct L2NormalizeS8 {
  int32_t zero_point;  // of x
  float min_norm;
  float scale;  // of y
  OutputS8 output;
};

void l2_normalize_f32(const float* x, float* y, int32_t rows, int32_t n, float min_norm);
void l2_normalize_s8(const int8_t* x, int8_t* y, int32_t rows, int32_t n, const L2NormalizeS8& params);

}  // namespace intaglio
