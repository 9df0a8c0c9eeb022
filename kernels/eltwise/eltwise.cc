// Element by element, for every machine: the lists of kernels, and what has no other kernel.
#include <cstring>

#include "kernels/arithmetic/output_f32.h"
#include "kernels/compiled_isa.h"
#include "kernels/eltwise/eltwise_f32.h"
#include "kernels/eltwise/eltwise_s8.h"

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
constexpr EltwiseS8Kernel kEltwiseS8Kernels[] = {
#include "kernels/eltwise/eltwise_s8_kernels.inc"
};
#undef ITG_ELTWISE_S8

int8_t clamp_code(int8_t code, int8_t lo, int8_t hi) {
  const int8_t least = code > lo ? code : lo;
  return least < hi ? least : hi;
}

}  // namespace

ITG_KERNEL_LIST(EltwiseS8Kernel, eltwise_s8, kEltwiseS8Kernels)
ITG_FIRST_ALLOWED(eltwise_s8, kEltwiseS8Kernels)

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

#define ITG_ELTWISE_F32(isa) RowsF32 add_rows_f32_##isa, mul_rows_f32_##isa;
#include "kernels/eltwise/eltwise_f32_kernels.inc"
#undef ITG_ELTWISE_F32

RowsF32 prelu_rows_f32_avx2, prelu_rows_f32_neon, prelu_rows_f32_scalar;

namespace {

#define ITG_ELTWISE_F32(isa)                     \
  ITG_KERNEL(EltwiseF32Kernel, eltwise_f32, isa, \
             ITG_COMPILED(isa, k.add_rows = add_rows_f32_##isa; k.mul_rows = mul_rows_f32_##isa;))
constexpr EltwiseF32Kernel kEltwiseF32Kernels[] = {
#include "kernels/eltwise/eltwise_f32_kernels.inc"
};
#undef ITG_ELTWISE_F32

// AVX2's serves CPUs with AVX-512, too: less code.
#define ITG_PRELU_F32(isa) \
  ITG_KERNEL(PreluF32Kernel, prelu_f32, isa, ITG_COMPILED(isa, k.rows = prelu_rows_f32_##isa;))
constexpr PreluF32Kernel kPreluKernels[] = {ITG_PRELU_F32(avx2) ITG_PRELU_F32(neon) ITG_PRELU_F32(scalar)};
#undef ITG_PRELU_F32
constexpr int32_t kPreluCount = sizeof kPreluKernels / sizeof kPreluKernels[0];

// A block that cannot be one of the operands.
constexpr int32_t kBlock = 64;

// y[r, i] = function(a[r, i], b[i])
template <typename Function>
inline void for_rows(const float* a, const float* b, float* y, int32_t rows, int32_t n, Function function) {
  for (int32_t r = 0; r < rows; ++r) {
    int32_t i = 0;
    for (; i + kBlock <= n; i += kBlock) {
      float block[kBlock];
      for (int32_t j = 0; j < kBlock; ++j) block[j] = function(a[i + j], b[i + j]);
      memcpy(y + i, block, sizeof block);
    }
    for (; i < n; ++i) y[i] = function(a[i], b[i]);
    a += n;
    y += n;
  }
}

// For operators that are rare: short code before speed.
template <typename Function>
inline void for_rare_rows(const float* a, const float* b, float* y, int32_t rows, int32_t n,
                          Function function) {
  for (int32_t r = 0; r < rows; ++r, a += n, y += n)
    for (int32_t i = 0; i < n; ++i) y[i] = function(a[i], b[i]);
}

}  // namespace

ITG_KERNEL_LIST(EltwiseF32Kernel, eltwise_f32, kEltwiseF32Kernels)

int32_t prelu_f32_count() { return kPreluCount; }
const PreluF32Kernel& prelu_f32_kernel(int32_t index) { return kPreluKernels[index]; }
int32_t prelu_f32_select(IsaMask isa) { return first_allowed(kPreluKernels, isa); }
ITG_FIRST_ALLOWED(eltwise_f32, kEltwiseF32Kernels)

void add_rows_f32_scalar(const float* a, const float* b, float* y, int32_t rows, int32_t n,
                         const ClampF32& clamp) {
  const ClampF32 c = clamp;
  for_rows(a, b, y, rows, n, [c](float p, float q) { return finish_f32(p + q, c); });
}

void add_value_f32(const float* a, float b, float* y, int32_t n, const ClampF32& clamp) {
  const ClampF32 c = clamp;
  for (int32_t i = 0; i < n; ++i) y[i] = finish_f32(a[i] + b, c);
}

void sub_rows_f32(const float* a, const float* b, float* y, int32_t rows, int32_t n, const ClampF32& clamp) {
  const ClampF32 c = clamp;
  for_rows(a, b, y, rows, n, [c](float p, float q) { return finish_f32(p - q, c); });
}

void sub_from_rows_f32(const float* a, const float* b, float* y, int32_t rows, int32_t n,
                       const ClampF32& clamp) {
  const ClampF32 c = clamp;
  for_rows(a, b, y, rows, n, [c](float p, float q) { return finish_f32(q - p, c); });
}

void sub_from_value_f32(const float* a, float b, float* y, int32_t n, const ClampF32& clamp) {
  const ClampF32 c = clamp;
  for (int32_t i = 0; i < n; ++i) y[i] = finish_f32(b - a[i], c);
}

void mul_rows_f32_scalar(const float* a, const float* b, float* y, int32_t rows, int32_t n,
                         const ClampF32& clamp) {
  const ClampF32 c = clamp;
  for_rows(a, b, y, rows, n, [c](float p, float q) { return finish_f32(p * q, c); });
}

void mul_value_f32(const float* a, float b, float* y, int32_t n, const ClampF32& clamp) {
  const ClampF32 c = clamp;
  for (int32_t i = 0; i < n; ++i) y[i] = finish_f32(a[i] * b, c);
}

void div_rows_f32(const float* a, const float* b, float* y, int32_t rows, int32_t n, const ClampF32& clamp) {
  for_rare_rows(a, b, y, rows, n, [&](float p, float q) { return finish_f32(p / q, clamp); });
}

void div_from_rows_f32(const float* a, const float* b, float* y, int32_t rows, int32_t n,
                       const ClampF32& clamp) {
  for_rare_rows(a, b, y, rows, n, [&](float p, float q) { return finish_f32(q / p, clamp); });
}

void max_rows_f32(const float* a, const float* b, float* y, int32_t rows, int32_t n, const ClampF32& clamp) {
  for_rare_rows(a, b, y, rows, n,
                [&](float p, float q) { return finish_f32(p > q || p != p ? p : q, clamp); });
}

void min_rows_f32(const float* a, const float* b, float* y, int32_t rows, int32_t n, const ClampF32& clamp) {
  for_rare_rows(a, b, y, rows, n,
                [&](float p, float q) { return finish_f32(p < q || p != p ? p : q, clamp); });
}

void prelu_rows_f32_scalar(const float* a, const float* b, float* y, int32_t rows, int32_t n,
                           const ClampF32& clamp) {
  const ClampF32 c = clamp;
  for_rows(a, b, y, rows, n, [c](float p, float q) { return finish_f32(p > 0.0f ? p : q * p, c); });
}

void clamp_row_f32(const float* x, float* y, int32_t n, const ClampF32& clamp) {
  const ClampF32 c = clamp;
  for (int32_t i = 0; i < n; ++i) y[i] = finish_f32(x[i], c);
}

namespace {

template <typename Compare>
inline void for_compared_rows(const float* a, const float* b, float* y, int32_t rows, int32_t n,
                              Compare compare) {
  for (int32_t r = 0; r < rows; ++r, a += n, y += n)
    for (int32_t i = 0; i < n; ++i) y[i] = compare(a[i], b[i]) ? 1.0f : 0.0f;
}

}  // namespace

void equal_rows_f32(const float* a, const float* b, float* y, int32_t rows, int32_t n) {
  for_compared_rows(a, b, y, rows, n, [](float p, float q) { return p == q; });
}
void less_rows_f32(const float* a, const float* b, float* y, int32_t rows, int32_t n) {
  for_compared_rows(a, b, y, rows, n, [](float p, float q) { return p < q; });
}
void less_from_rows_f32(const float* a, const float* b, float* y, int32_t rows, int32_t n) {
  for_compared_rows(a, b, y, rows, n, [](float p, float q) { return q < p; });
}
void less_equal_rows_f32(const float* a, const float* b, float* y, int32_t rows, int32_t n) {
  for_compared_rows(a, b, y, rows, n, [](float p, float q) { return p <= q; });
}
void less_equal_from_rows_f32(const float* a, const float* b, float* y, int32_t rows, int32_t n) {
  for_compared_rows(a, b, y, rows, n, [](float p, float q) { return q <= p; });
}

void where_row_f32(const float* condition, const float* a, const float* b, float* y, int32_t n,
                   WhereSteps steps) {
  for (int32_t i = 0; i < n; ++i, condition += steps.condition, a += steps.a, b += steps.b)
    y[i] = canonical_f32(*condition != 0.0f ? *a : *b);
}

}  // namespace intaglio
