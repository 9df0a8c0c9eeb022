// Moves of elements: strided copies and permutations.
//
// Moves elements of 1, 2 or 4 bytes between two tensors, each with strides of its own, rank 1 to 6:
// slices, padding, concatenation. A stride may be negative.
#pragma once

#include <cstddef>
#include <cstdint>

namespace intaglio {

// y[i . y_strides] = x[i . x_strides] for i < dims: axes of size 1 dropped, neighbours that stay together merged.
struct StridedCopy {
  int32_t rank;  // 1 to 6
  int32_t dims[6];
  int32_t x_strides[6];  // elements
  int32_t y_strides[6];
};

StridedCopy make_strided_copy(const int32_t* dims, const int32_t* x_strides, const int32_t* y_strides,
                              int32_t rank);

// Copies the slices [first, last) of the first axis, dims[0]. x and y are the addresses of i = 0 and overlap
// nowhere.
void strided_copy_8(const StridedCopy& copy, const uint8_t* x, uint8_t* y, int32_t first, int32_t last);
void strided_copy_16(const StridedCopy& copy, const uint16_t* x, uint16_t* y, int32_t first, int32_t last);
void strided_copy_32(const StridedCopy& copy, const uint32_t* x, uint32_t* y, int32_t first, int32_t last);

// Rows of 1 byte and more, each x_pitch and y_pitch bytes behind the one before, which overlap nowhere.
void copy_rows(const uint8_t* x, uint8_t* y, int32_t rows, int32_t bytes, ptrdiff_t x_pitch,
               ptrdiff_t y_pitch);

// Moves elements of 1 or 4 bytes: output axis i is input axis permutation[i], rank 1 to 6.

// A permutation with its axes of size 1 dropped and neighbours that stay together merged.
struct Permutation {
  int32_t rank;        // 1 to 6
  int32_t dims[6];     // of the output
  int32_t strides[6];  // in the input, elements from one index of an output axis to the next
};

Permutation make_permutation(const int32_t* input_dims, const int32_t* permutation, int32_t rank);

// Writes the output's slices [first, last) of its first axis, permutation.dims[0]. y overlaps nothing.
void permute_8(const Permutation& permutation, const uint8_t* x, uint8_t* y, int32_t first, int32_t last);
void permute_16(const Permutation& permutation, const uint16_t* x, uint16_t* y, int32_t first, int32_t last);
void permute_32(const Permutation& permutation, const uint32_t* x, uint32_t* y, int32_t first, int32_t last);

}  // namespace intaglio
