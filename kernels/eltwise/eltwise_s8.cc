#include "kernels/eltwise/eltwise_s8.h"

#include "kernels/compiled_isa.h"

namespace intaglio {

#define ITG_ELTWISE_S8(isa, arithmetic)                                                                \
  void add_rows_s8_##arithmetic(const int8_t* a, const int8_t* b, int8_t* y, int32_t rows, int32_t n,  \
                                const AddS8& params);                                                  \
  void add_code_s8_##arithmetic(const int8_t* a, int8_t b, int8_t* y, int32_t n, const AddS8& params); \
  void mul_rows_s8_##arithmetic(const int8_t* a, const int8_t* b, int8_t* y, int32_t rows, int32_t n,  \
                                const MulS8& params);                                                  \
  void mul_code_s8_##arithmetic(const int8_t* a, int8_t b, int8_t* y, int32_t n, const MulS8& params); \
  void lookup_s8_##isa(const int8_t* x, const int8_t* table, int8_t* y, int32_t n);
#include "kernels/eltwise/eltwise_s8_kernels.inc"
#undef ITG_ELTWISE_S8

namespace {

#define ITG_ELTWISE_S8(isa, arithmetic)                                                                      \
  ITG_KERNEL(EltwiseS8Kernel, eltwise_s8, isa,                                                               \
             ITG_COMPILED(isa, k.add_rows = add_rows_s8_##arithmetic; k.add_code = add_code_s8_##arithmetic; \
                          k.mul_rows = mul_rows_s8_##arithmetic; k.mul_code = mul_code_s8_##arithmetic;      \
                          k.lookup = lookup_s8_##isa;))
constexpr EltwiseS8Kernel kKernels[] = {
#include "kernels/eltwise/eltwise_s8_kernels.inc"
};
#undef ITG_ELTWISE_S8

int8_t clamp_code(int8_t code, int8_t lo, int8_t hi) {
  const int8_t least = code > lo ? code : lo;
  return least < hi ? least : hi;
}

}  // namespace

ITG_KERNEL_LIST(EltwiseS8Kernel, eltwise_s8, kKernels)
ITG_FIRST_ALLOWED(eltwise_s8, kKernels)

void div_rows_s8(const int8_t* a, const int8_t* b, int8_t* y, int32_t rows, int32_t n, const DivS8& params) {
  const DivS8 p = params;
  for (int32_t r = 0; r < rows; ++r, a += n, y += n)
    for (int32_t i = 0; i < n; ++i) y[i] = div_s8(a[i], b[i], p);
}

void div_from_rows_s8(const int8_t* a, const int8_t* b, int8_t* y, int32_t rows, int32_t n,
                      const DivS8& params) {
  const DivS8 p = params;
  for (int32_t r = 0; r < rows; ++r, a += n, y += n)
    for (int32_t i = 0; i < n; ++i) y[i] = div_s8(b[i], a[i], p);
}

void max_rows_s8(const int8_t* a, const int8_t* b, int8_t* y, int32_t rows, int32_t n, int8_t lo, int8_t hi) {
  for (int32_t r = 0; r < rows; ++r, a += n, y += n)
    for (int32_t i = 0; i < n; ++i) y[i] = clamp_code(a[i] > b[i] ? a[i] : b[i], lo, hi);
}

void min_rows_s8(const int8_t* a, const int8_t* b, int8_t* y, int32_t rows, int32_t n, int8_t lo, int8_t hi) {
  for (int32_t r = 0; r < rows; ++r, a += n, y += n)
    for (int32_t i = 0; i < n; ++i) y[i] = clamp_code(a[i] < b[i] ? a[i] : b[i], lo, hi);
}

void lookup_rows_s8(const int8_t* x, const int8_t* tables, int8_t* y, int32_t rows, int32_t n) {
  for (int32_t r = 0; r < rows; ++r, x += n, y += n) {
    const int8_t* middle = tables + 128;
    for (int32_t i = 0; i < n; ++i, middle += 256) y[i] = middle[x[i]];
  }
}

}  // namespace intaglio
