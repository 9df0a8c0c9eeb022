// Parts that the vector kernels of quantize_s8.h share.
#pragma once

#include <cstddef>

#include "kernels/quantize/quantize_s8.h"

namespace intaglio {

void quantize_s8_scalar(const float* x, float scale, const OutputS8& output, int8_t* y, int32_t n);
void dequantize_s8_scalar(const int8_t* x, float scale, int32_t zero_point, float* y, int32_t n);

// Calls function(i) for runs of kLanes elements from i on that cover all n, at least kLanes. The last one may overlap
// the one before.
template <int32_t kLanes, typename Function>
static inline void for_each_run(int32_t n, Function function) {
  const ptrdiff_t last = n - kLanes;
  for (ptrdiff_t i = 0;; i = i + kLanes < last ? i + kLanes : last) {
    function(i);
    if (i == last) break;
  }
}

}  // namespace intaglio
