// Rows of eltwise_f32.h over a vector type V of the instruction set, which gives
//   Register, Mask, Finish, kLanes, mask(count),
//   load(from), load(from, mask), store(to, v), store(to, mask, v)
#pragma once

#include "kernels/eltwise/eltwise_f32.h"

namespace intaglio {
namespace {

// Each vector is read before it is written: y may be a.
template <typename V, typename Combine>
inline void combine_rows(const float* a, const float* b, float* y, int32_t rows, int32_t n,
                         const ClampF32& clamp, Combine combine) {
  const typename V::Finish finish(clamp);
  const typename V::Mask mask = V::mask(n % V::kLanes);
  for (int32_t r = 0; r < rows; ++r, a += n, y += n) {
    int32_t i = 0;
    for (; i + V::kLanes <= n; i += V::kLanes)
      V::store(y + i, finish(combine(V::load(a + i), V::load(b + i))));
    if (i < n) V::store(y + i, mask, finish(combine(V::load(a + i, mask), V::load(b + i, mask))));
  }
}

}  // namespace
}  // namespace intaglio
