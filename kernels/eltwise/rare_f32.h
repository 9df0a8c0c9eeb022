// Functions of one variable that few networks have, FP32, element by element; no libm. They stand apart from unary_f32.h,
// so that a program without them links none. e(x) is exp_f32, ln(x) is log_f32.
//
//   floor, ceil        the nearest integer not above, not below x
//   round              the nearest integer, half to even
//   sign               -1, 0 or 1
//   sin, cos           of functions_f32.h, for every float
//   pow                x^alpha. An integer alpha, |alpha| <= 64: products by squaring, 1 / them below 0. A multiple of 1/2 in
//                      that range: the same of sqrt(x) and 2 alpha. Else e(alpha * ln(x)), the product in two parts
//   selu               x > 0 ? beta * x : beta * (alpha * (e(x) - 1)), e(x) - 1 as elu of unary_f32.h has it
//   celu               x > 0 ? x : alpha * (e(x / alpha) - 1), alike
//   thresholded_relu   x > alpha ? x : 0
//   shrink             x < -alpha ? x + beta : x > alpha ? x - beta : 0
//   softsign           x / (1 + |x|)
//
// Results are canonical (output_f32.h); NaN gives NaN (pow: but for alpha 0, which gives 1). The same source is compiled once
// an instruction set (rare_f32_rows.h). y may be x; no other overlap is allowed.
#pragma once

#include "intaglio/isa.h"
#include "kernels/arithmetic/output_f32.h"

namespace intaglio {

enum class RareF32 : int32_t {
  kFloor,
  kCeil,
  kRound,
  kSign,
  kSin,
  kCos,
  kPow,
  kSelu,
  kCelu,
  kThresholdedRelu,
  kShrink,
  kSoftsign,
};

struct RareF32Args {
  RareF32 function;
  float alpha, beta;
  const float* x;
  float* y;
  int32_t n;
};

struct RareF32Kernel {
  const char* name;
  IsaMask isa;
  void (*function)(const RareF32Args& args);  // nullptr where this build has not compiled it
};

// Best first. The scalar kernel is the last one.
int32_t rare_f32_count();
const RareF32Kernel& rare_f32_kernel(int32_t index);
// The first that `isa` allows, compiled or not: here pass cpu_isa() & kCompiledIsa.
int32_t rare_f32_select(IsaMask isa);

}  // namespace intaglio
