// The functions that each file of a codes_s16 kernel defines.
#pragma once

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

}  // namespace intaglio
