#include "kernels/normalize/softmax_s16.h"

namespace intaglio {

void softmax_s16_scalar(const int16_t* x, const int32_t* table, float reciprocal_scale, int16_t* y,
                        int32_t n) {
  int32_t largest = -32768, sum = 0;
  for (int32_t i = 0; i < n; ++i) largest = largest > x[i] ? largest : x[i];
  for (int32_t i = 0; i < n; ++i) sum += softmax_entry_s16(table, largest - x[i]);
  const float r = reciprocal_scale / static_cast<float>(sum);
  const OutputS16 output = make_output_s16(-32768, 32767);
  for (int32_t i = 0; i < n; ++i) y[i] = requantize_s16(softmax_entry_s16(table, largest - x[i]), r, output);
}

}  // namespace intaglio
