// Moves elements of 1 or 4 bytes between two tensors that are walked with steps of their own, rank 1 to 6:
// slices, padding, concatenation. A step may be negative.
#pragma once

#include <cstddef>
#include <cstdint>

namespace intaglio {

// y[i . y_steps] = x[i . x_steps] for i < dims: axes of size 1 dropped, neighbours that stay together merged.
struct StridedCopy {
  int32_t rank;  // 1 to 6
  int32_t dims[6];
  int32_t x_steps[6];  // elements
  int32_t y_steps[6];
};

StridedCopy make_strided_copy(const int32_t* dims, const int32_t* x_steps, const int32_t* y_steps,
                              int32_t rank);

// Copies the slices [first, last) of the first axis, dims[0]. x and y are the addresses of i = 0 and overlap
// nowhere.
void strided_copy_8(const StridedCopy& copy, const uint8_t* x, uint8_t* y, int32_t first, int32_t last);
void strided_copy_32(const StridedCopy& copy, const uint32_t* x, uint32_t* y, int32_t first, int32_t last);

}  // namespace intaglio
