// Moves elements of 1 or 4 bytes: output axis i is input axis permutation[i], rank 1 to 6.
#pragma once

#include <cstddef>
#include <cstdint>

namespace intaglio {

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
