// The functions that each file of a codes_s16 kernel defines.
#pragma once

#include <cstddef>

#include "kernels/eltwise/codes_s16.h"

namespace intaglio {

#define ITG_CODES_S16(isa)                                                                                 \
  void quantize_s16_##isa(const float* x, float scale, const OutputS16& output, int16_t* y, int32_t n);    \
  void real_s16_##isa(const int16_t* x, float scale, float* y, int32_t n);                                 \
  void widen_s16_##isa(const int8_t* x, int32_t zero_point, float multiplier, const OutputS16& output,     \
                       int16_t* y, int32_t n);                                                             \
  void narrow_s16_##isa(const int16_t* x, float multiplier, const OutputS8& output, int8_t* y, int32_t n); \
  void rescale_s16_##isa(const int16_t* x, float multiplier, const OutputS16& output, int16_t* y,          \
                         int32_t n);                                                                       \
  void add_s16_##isa(const OperandsS16& operands, int16_t* y);                                             \
  void mul_s16_##isa(const OperandsS16& operands, int16_t* y);                                             \
  void lookup_s16_##isa(const int16_t* x, const int16_t* table, int16_t* y, int32_t n);
#include "kernels/eltwise/codes_s16_kernels.inc"
#undef ITG_CODES_S16

// The loops of codes_s16.h, for the file of each instruction set: compilers vectorise blocks of sixteen.

// Calls function(i) for each i < n. y may be what is read: what a block reads is read before it is written.
template <typename T, typename Function>
static inline void for_codes_s16(int32_t n, T* y, Function function) {
  constexpr ptrdiff_t kBlock = 16;
  ptrdiff_t i = 0;
  for (; i + kBlock <= n; i += kBlock) {
    T block[kBlock];
    for (ptrdiff_t j = 0; j < kBlock; ++j) block[j] = function(i + j);
    memcpy(y + i, block, sizeof block);
  }
  for (; i < n; ++i) y[i] = function(i);
}

static inline void quantize_codes_s16(const float* x, float scale, const OutputS16& output, int16_t* y,
                                      int32_t n) {
  const OutputS16 o = output;
  for_codes_s16(n, y, [=](ptrdiff_t i) {
    const float v = x[i], q = v / scale;
    return v == v ? clamp_and_round_s16(q, o) : int16_t{0};
  });
}
static inline void real_codes_s16(const int16_t* x, float scale, float* y, int32_t n) {
  for_codes_s16(n, y, [=](ptrdiff_t i) { return scale * static_cast<float>(x[i]); });
}
static inline void widen_codes_s16(const int8_t* x, int32_t zero_point, float multiplier,
                                   const OutputS16& output, int16_t* y, int32_t n) {
  const OutputS16 o = output;
  for_codes_s16(n, y, [=](ptrdiff_t i) { return requantize_s16(x[i] - zero_point, multiplier, o); });
}
static inline void narrow_codes_s16(const int16_t* x, float multiplier, const OutputS8& output, int8_t* y,
                                    int32_t n) {
  const OutputS8 o = output;
  for_codes_s16(n, y, [=](ptrdiff_t i) { return requantize_s8(x[i], multiplier, o); });
}
static inline void rescale_codes_s16(const int16_t* x, float multiplier, const OutputS16& output, int16_t* y,
                                     int32_t n) {
  const OutputS16 o = output;
  for_codes_s16(n, y, [=](ptrdiff_t i) { return requantize_s16(x[i], multiplier, o); });
}

// Calls combine(a, b) on each pair of codes.
template <typename Combine>
static inline void combine_codes_s16(const OperandsS16& operands, int16_t* y, Combine combine) {
  const int16_t *large = operands.large, *const small = operands.small;
  const int32_t n = operands.n;
  if (operands.one) {
    const int16_t b = *small;
    for (int32_t row = 0; row < operands.rows; ++row, large += n, y += n)
      for_codes_s16(n, y, [=](ptrdiff_t i) { return combine(large[i], b); });
    return;
  }
  for (int32_t row = 0; row < operands.rows; ++row, large += n, y += n)
    for_codes_s16(n, y, [=](ptrdiff_t i) { return combine(large[i], small[i]); });
}
static inline void add_codes_s16(const OperandsS16& operands, int16_t* y) {
  const float a_factor = operands.large_multiplier, b_factor = operands.small_multiplier;
  const OutputS16 o = operands.output;
  combine_codes_s16(operands, y, [=](int32_t a, int32_t b) {
    return clamp_and_round_s16(static_cast<float>(a) * a_factor + static_cast<float>(b) * b_factor, o);
  });
}
static inline void mul_codes_s16(const OperandsS16& operands, int16_t* y) {
  const float factor = operands.large_multiplier;
  const OutputS16 o = operands.output;
  combine_codes_s16(operands, y, [=](int32_t a, int32_t b) { return requantize_s16(a * b, factor, o); });
}
static inline void lookup_codes_s16(const int16_t* x, const int16_t* table, int16_t* y, int32_t n) {
  for (int32_t i = 0; i < n; ++i) {
    const int32_t code = x[i], at = 256 + (code >> 7), first = table[at], slope = table[at + 1] - first;
    y[i] = static_cast<int16_t>(first + ((slope * (code & 127) + 64) >> 7));
  }
}

}  // namespace intaglio

// The kernel of one instruction set; lookup_function: lookup_codes_s16, or its own.
#define ITG_CODES_S16_FUNCTIONS(isa, lookup_function)                                                       \
  void quantize_s16_##isa(const float* x, float scale, const OutputS16& output, int16_t* y, int32_t n) {    \
    quantize_codes_s16(x, scale, output, y, n);                                                             \
  }                                                                                                         \
  void real_s16_##isa(const int16_t* x, float scale, float* y, int32_t n) {                                 \
    real_codes_s16(x, scale, y, n);                                                                         \
  }                                                                                                         \
  void widen_s16_##isa(const int8_t* x, int32_t zero_point, float multiplier, const OutputS16& output,      \
                       int16_t* y, int32_t n) {                                                             \
    widen_codes_s16(x, zero_point, multiplier, output, y, n);                                               \
  }                                                                                                         \
  void narrow_s16_##isa(const int16_t* x, float multiplier, const OutputS8& output, int8_t* y, int32_t n) { \
    narrow_codes_s16(x, multiplier, output, y, n);                                                          \
  }                                                                                                         \
  void rescale_s16_##isa(const int16_t* x, float multiplier, const OutputS16& output, int16_t* y,           \
                         int32_t n) {                                                                       \
    rescale_codes_s16(x, multiplier, output, y, n);                                                         \
  }                                                                                                         \
  void add_s16_##isa(const OperandsS16& operands, int16_t* y) { add_codes_s16(operands, y); }               \
  void mul_s16_##isa(const OperandsS16& operands, int16_t* y) { mul_codes_s16(operands, y); }               \
  void lookup_s16_##isa(const int16_t* x, const int16_t* table, int16_t* y, int32_t n) {                    \
    lookup_function(x, table, y, n);                                                                        \
  }
