// Element by element on int16 codes, whose zero point is 0, and between them and what is not int16.
//
//   quantize  y = clamp_and_round_s16(x / scale)               reals; IEEE division. NaN gives 0, even outside the clamp
//   real      y = scale * float(x)                             one multiply
//   widen     y = requantize_s16(x - zero_point, multiplier)   int8 codes
//   narrow    y = requantize_s8(x, multiplier)                 to int8 codes
//   rescale   y = requantize_s16(x, multiplier)
//   add       y = clamp_and_round_s16(float(a) * a_multiplier + float(b) * b_multiplier)       each operation rounded
//   mul       y = requantize_s16(a * b, multiplier)
//   lookup    y = t[i] + (((t[i + 1] - t[i]) * (x & 127) + 64) >> 7), i = 256 + (x >> 7)
//
// (requant_s16.h.) t: 513 codes, of the inputs -32768, -32640, and so on to 32768.
//
// Rows: y [rows, n] from `large` [rows, n] and `small`, one row [n] for all, or one element where `one`. y may be x or large;
// else it overlaps nothing. Scales and multipliers are finite, scales positive.
#pragma once

#include "intaglio/isa.h"
#include "kernels/arithmetic/requant_s16.h"

namespace intaglio {

struct OperandsS16 {
  const int16_t *large, *small;
  bool one;
  int32_t rows, n;
  float large_multiplier, small_multiplier;  // of a product the first alone
  OutputS16 output;
};

// A function is nullptr where this build has not compiled it.
struct CodesS16Kernel {
  const char* name;
  IsaMask isa;
  void (*quantize)(const float* x, float scale, const OutputS16& output, int16_t* y, int32_t n);
  void (*real)(const int16_t* x, float scale, float* y, int32_t n);
  void (*widen)(const int8_t* x, int32_t zero_point, float multiplier, const OutputS16& output, int16_t* y,
                int32_t n);
  void (*narrow)(const int16_t* x, float multiplier, const OutputS8& output, int8_t* y, int32_t n);
  void (*rescale)(const int16_t* x, float multiplier, const OutputS16& output, int16_t* y, int32_t n);
  void (*add)(const OperandsS16& operands, int16_t* y);
  void (*mul)(const OperandsS16& operands, int16_t* y);
  void (*lookup)(const int16_t* x, const int16_t* table, int16_t* y, int32_t n);
};

// Best first. The scalar kernel is the last one.
int32_t codes_s16_count();
const CodesS16Kernel& codes_s16_kernel(int32_t index);
// The first that `isa` allows, compiled or not: here pass cpu_isa() & kCompiledIsa.
int32_t codes_s16_select(IsaMask isa);

}  // namespace intaglio
