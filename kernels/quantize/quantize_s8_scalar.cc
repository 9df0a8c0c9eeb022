#include "kernels/quantize/quantize_s8.h"

namespace intaglio {

void quantize_s8_scalar(const float* x, float scale, const OutputS8& output, int8_t* y, int32_t n);
void dequantize_s8_scalar(const int8_t* x, float scale, int32_t zero_point, float* y, int32_t n);

void quantize_s8_scalar(const float* x, float scale, const OutputS8& output, int8_t* y, int32_t n) {
  const OutputS8 o = output;
  for (int32_t i = 0; i < n; ++i) {
    const float v = x[i] / scale;
    const int8_t q = clamp_and_round_s8(v, o);
    y[i] = v == v ? q : static_cast<int8_t>(o.zero_point);
  }
}

void dequantize_s8_scalar(const int8_t* x, float scale, int32_t zero_point, float* y, int32_t n) {
  for (int32_t i = 0; i < n; ++i) y[i] = scale * static_cast<float>(x[i] - zero_point);
}

}  // namespace intaglio
