#include "kernels/eltwise_f32.h"

#include <cstring>

#include "kernels/output_f32.h"

namespace intaglio {
namespace {

// As in eltwise_s8.cc: a block that cannot be one of the operands.
constexpr int32_t kBlock = 64;

}  // namespace

void add_rows_f32(const float* a, const float* b, float* y, int32_t rows, int32_t n, const ClampF32& clamp) {
  const ClampF32 c = clamp;
  for (int32_t r = 0; r < rows; ++r) {
    int32_t i = 0;
    for (; i + kBlock <= n; i += kBlock) {
      float block[kBlock];
      for (int32_t j = 0; j < kBlock; ++j) block[j] = finish_f32(a[i + j] + b[i + j], c);
      memcpy(y + i, block, sizeof block);
    }
    for (; i < n; ++i) y[i] = finish_f32(a[i] + b[i], c);
    a += n;
    y += n;
  }
}

void add_value_f32(const float* a, float b, float* y, int32_t n, const ClampF32& clamp) {
  const ClampF32 c = clamp;
  for (int32_t i = 0; i < n; ++i) y[i] = finish_f32(a[i] + b, c);
}

void clamp_row_f32(const float* x, float* y, int32_t n, const ClampF32& clamp) {
  const ClampF32 c = clamp;
  for (int32_t i = 0; i < n; ++i) y[i] = finish_f32(x[i], c);
}

}  // namespace intaglio
