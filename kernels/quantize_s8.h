// Reals to codes and back.
//
//   quantize    q = rne(clamp(x / scale)) + zero_point   IEEE division, clamped as requant.h does; NaN gives
//                                                        zero_point, also where the clamp leaves it out
//   dequantize  x = scale * float(q - zero_point)        one multiply
//
// Scales are finite and positive. y overlaps nothing.
#pragma once

#include "kernels/requant.h"

namespace intaglio {

void quantize_f32_s8(const float* x, float scale, const OutputS8& output, int8_t* y, int32_t n);

void dequantize_s8_f32(const int8_t* x, float scale, int32_t zero_point, float* y, int32_t n);

}  // namespace intaglio
