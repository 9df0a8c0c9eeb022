#include "kernels/observe/observe_f32_loops.h"

namespace intaglio {

void extremes_f32_scalar(const float* x, size_t n, ExtremesF32* seen);
void count_f32_scalar(const float* x, size_t n, size_t stride, const BinsF32& bins);

void extremes_f32_scalar(const float* x, size_t n, ExtremesF32* seen) {
  constexpr size_t kLanes = 32;  // enough that compilers make vectors of them
  float min[kLanes] = {}, max[kLanes] = {}, zero[kLanes] = {};
  const auto look = [&](const float* at, size_t count) {
    for (size_t i = 0; i < count; ++i) {
      min[i] = at[i] < min[i] ? at[i] : min[i];
      max[i] = at[i] > max[i] ? at[i] : max[i];
      zero[i] += at[i] * 0.0f;  // NaN for NaN and infinities, and from then on
    }
  };
  size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) look(x + i, kLanes);
  look(x + i, n - i);
  for (size_t lane = 0; lane < kLanes; ++lane) {
    seen->min = min[lane] < seen->min ? min[lane] : seen->min;
    seen->max = max[lane] > seen->max ? max[lane] : seen->max;
    seen->finite = seen->finite && zero[lane] == 0.0f;
  }
}

void count_f32_scalar(const float* x, size_t n, size_t stride, const BinsF32& bins) {
  count_one_by_one(x, n, stride, bins);
}

}  // namespace intaglio
