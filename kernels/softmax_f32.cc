#include "kernels/softmax_f32.h"

#include "kernels/canonical_f32.h"
#include "kernels/exp_f32.h"

namespace intaglio {

void softmax_f32(const float* x, float* y, int32_t n) {
  float largest = x[0];
  for (int32_t i = 1; i < n; ++i) largest = largest > x[i] ? largest : x[i];
  for (int32_t i = 0; i < n; ++i) y[i] = exp_f32(x[i] - largest);
  float sum = 0.0f;
  for (int32_t i = 0; i < n; ++i) sum += y[i];
  for (int32_t i = 0; i < n; ++i) y[i] = canonical_f32(y[i] / sum);
}

}  // namespace intaglio
