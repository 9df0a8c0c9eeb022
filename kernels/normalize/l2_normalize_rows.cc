#include "kernels/normalize/normalize_groups.h"

#include "kernels/arithmetic/functions_f32.h"

namespace intaglio {

void l2_normalize_f32(const float* x, float* y, int32_t rows, int32_t n, float min_norm, int32_t block) {
  for (int32_t r = 0; r < rows; ++r, x += n, y += n) {
    const float sum = sum_in_blocks(n, block, [x](int32_t i, int32_t end) {
      float squares = 0.0f;
      for (; i < end; ++i) squares = fma_f32(x[i], x[i], squares);
      return squares;
    });
    const float root = sqrt_f32(sum);
    const float norm = root < min_norm ? min_norm : root;
    for (int32_t i = 0; i < n; ++i) y[i] = norm == 0.0f ? 0.0f : canonical_f32(x[i] / norm);
  }
}

void l2_normalize_s8(const int8_t* x, int8_t* y, int32_t rows, int32_t n, const L2NormalizeS8& params) {
  const L2NormalizeS8 p = params;
  for (int32_t r = 0; r < rows; ++r, x += n, y += n) {
    int32_t sum = 0;
    for (int32_t i = 0; i < n; ++i) sum += (x[i] - p.zero_point) * (x[i] - p.zero_point);
    const float root = sqrt_f32(static_cast<float>(sum));
    const float norm = root < p.min_norm ? p.min_norm : root;
    const float multiplier = norm == 0.0f ? 0.0f : 1.0f / (norm * p.scale);
    for (int32_t i = 0; i < n; ++i) y[i] = requantize_s8(x[i] - p.zero_point, multiplier, p.output);
  }
}

}  // namespace intaglio
