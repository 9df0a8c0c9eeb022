#include "kernels/normalize/softmax_s8.h"

namespace intaglio {

void softmax_s8_scalar(const int8_t* x, const int32_t* table, float reciprocal_scale, const OutputS8& output,
                       int8_t* y, int32_t n) {
  int8_t largest = -128;
  for (int32_t i = 0; i < n; ++i) largest = largest > x[i] ? largest : x[i];
  int32_t sum = 0;
  for (int32_t i = 0; i < n; ++i) sum += table[largest - x[i]];
  const float r = reciprocal_scale / static_cast<float>(sum);
  for (int32_t i = 0; i < n; ++i) y[i] = requantize_s8(table[largest - x[i]], r, output);
}

}  // namespace intaglio
