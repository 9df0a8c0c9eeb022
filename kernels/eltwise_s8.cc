#include "kernels/eltwise_s8.h"

namespace intaglio {
namespace {

// Results are gathered in a block of their own, so that compilers vectorise although y may be a.
constexpr int32_t kBlock = 64;

}  // namespace

void add_rows_s8(const int8_t* a, const int8_t* b, int8_t* y, int32_t rows, int32_t n, const AddS8& params) {
  const AddS8 p = params;
  for (int32_t r = 0; r < rows; ++r) {
    int32_t i = 0;
    for (; i + kBlock <= n; i += kBlock) {
      int8_t block[kBlock];
      for (int32_t j = 0; j < kBlock; ++j) block[j] = add_s8(a[i + j], b[i + j], p);
      memcpy(y + i, block, kBlock);
    }
    for (; i < n; ++i) y[i] = add_s8(a[i], b[i], p);
    a += n;
    y += n;
  }
}

void add_code_s8(const int8_t* a, int8_t b, int8_t* y, int32_t n, const AddS8& params) {
  const AddS8 p = params;
  int32_t i = 0;
  for (; i + kBlock <= n; i += kBlock) {
    int8_t block[kBlock];
    for (int32_t j = 0; j < kBlock; ++j) block[j] = add_s8(a[i + j], b, p);
    memcpy(y + i, block, kBlock);
  }
  for (; i < n; ++i) y[i] = add_s8(a[i], b, p);
}

void lookup_s8(const int8_t* x, const int8_t* table, int8_t* y, int32_t n) {
  const int8_t* const middle = table + 128;
  for (int32_t i = 0; i < n; ++i) y[i] = middle[x[i]];
}

}  // namespace intaglio
