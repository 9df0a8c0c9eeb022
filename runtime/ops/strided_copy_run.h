// Runs a strided copy of a tensor's elements, of 1, 2 or 4 bytes, in pieces.
#pragma once

#include "kernels/copy/strided_copy.h"
#include "runtime/op.h"
#include "runtime/ops/split.h"

namespace intaglio {

// Elements from one index of each axis to the next.
inline void row_major_strides(const Shape& shape, int32_t* strides) {
  int32_t stride = 1;
  for (int32_t i = shape.rank - 1; i >= 0; --i) {
    strides[i] = stride;
    stride *= shape[i];
  }
}

template <typename T>
void run_strided_copy(const NodeRun& run, const StridedCopy& copy, const T* x, T* y) {
  int64_t elements = 1;
  for (int32_t i = 1; i < copy.rank; ++i) elements *= copy.dims[i];
  for_pieces(*run.executor, copy.dims[0], elements, [&](int32_t first, int32_t count) {
    if constexpr (sizeof(T) == 1) {
      strided_copy_8(copy, x, y, first, first + count);
    } else if constexpr (sizeof(T) == 2) {
      strided_copy_16(copy, x, y, first, first + count);
    } else {
      strided_copy_32(copy, x, y, first, first + count);
    }
  });
}

}  // namespace intaglio
