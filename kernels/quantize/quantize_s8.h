// Reals to codes and back.
//
//   quantize    q = rne(clamp(x / scale)) + zero_point   IEEE division, clamped as requant.h does; NaN gives
//                                                        zero_point, even if that is outside the clamp
//   dequantize  x = scale * float(q - zero_point)        one multiply
//
// Scales are finite and positive. y overlaps nothing.
#pragma once

#include "intaglio/isa.h"
#include "kernels/arithmetic/requant.h"

namespace intaglio {

// A function is nullptr where this build has not compiled it.
struct QuantizeS8Kernel {
  const char* name;
  IsaMask isa;
  void (*quantize)(const float* x, float scale, const OutputS8& output, int8_t* y, int32_t n);
  void (*dequantize)(const int8_t* x, float scale, int32_t zero_point, float* y, int32_t n);
};

// Best first. The scalar kernel is the last one.
int32_t quantize_s8_count();
const QuantizeS8Kernel& quantize_s8_kernel(int32_t index);
// The first that `isa` allows, compiled or not: here pass cpu_isa() & kCompiledIsa.
int32_t quantize_s8_select(IsaMask isa);

}  // namespace intaglio
