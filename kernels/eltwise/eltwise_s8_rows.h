// The loops of eltwise_s8.h, for the file of each instruction set: compilers vectorise them.
#pragma once

#include "kernels/eltwise/eltwise_s8.h"

namespace intaglio {

// y[i] = function(a[i], i), through a block of its own, so that compilers vectorise although y may be a.
template <typename Function>
static inline void map_s8(const int8_t* a, int8_t* y, int32_t n, Function function) {
  constexpr int32_t kBlock = 64;
  int32_t i = 0;
  for (; i + kBlock <= n; i += kBlock) {
    int8_t block[kBlock];
    for (int32_t j = 0; j < kBlock; ++j) block[j] = function(a[i + j], i + j);
    memcpy(y + i, block, kBlock);
  }
  for (; i < n; ++i) y[i] = function(a[i], i);
}

static inline void map_add_rows_s8(const int8_t* a, const int8_t* b, int8_t* y, int32_t rows, int32_t n,
                                   const AddS8& params) {
  const AddS8 p = params;
  for (int32_t r = 0; r < rows; ++r, a += n, y += n)
    map_s8(a, y, n, [b, p](int8_t v, int32_t i) { return add_s8(v, b[i], p); });
}

static inline void map_add_code_s8(const int8_t* a, int8_t b, int8_t* y, int32_t n, const AddS8& params) {
  const AddS8 p = params;
  map_s8(a, y, n, [b, p](int8_t v, int32_t) { return add_s8(v, b, p); });
}

static inline void map_mul_rows_s8(const int8_t* a, const int8_t* b, int8_t* y, int32_t rows, int32_t n,
                                   const MulS8& params) {
  const MulS8 p = params;
  for (int32_t r = 0; r < rows; ++r, a += n, y += n)
    map_s8(a, y, n, [b, p](int8_t v, int32_t i) { return mul_s8(v, b[i], p); });
}

static inline void map_mul_code_s8(const int8_t* a, int8_t b, int8_t* y, int32_t n, const MulS8& params) {
  const MulS8 p = params;
  map_s8(a, y, n, [b, p](int8_t v, int32_t) { return mul_s8(v, b, p); });
}

static inline void map_lookup_s8(const int8_t* x, const int8_t* table, int8_t* y, int32_t n) {
  const int8_t* const middle = table + 128;
  for (int32_t i = 0; i < n; ++i) y[i] = middle[x[i]];
}

}  // namespace intaglio
