// Functions of one variable, FP32, element by element; no libm. e(x) is exp_f32 of functions_f32.h.
//
//   leaky_relu    x > 0 ? x : alpha * x
//   sigmoid       1 / (1 + e(-x))
//   tanh          |x| < 0.625: a polynomial of degree 11; else 1 - 2 / (e(2 |x|) + 1); the sign of x
//   hard_swish    x * min(max(x + 3, 0), 6) * (1 / 6), from left to right
//   hard_sigmoid  min(max(fma(alpha, x, beta), 0), 1)
//   swish         x / (1 + e(-x))
//   gelu          x * (erfc(-x / sqrt(2)) / 2), erfc by Chebyshev's fit in Numerical Recipes (error below
//                 1.2e-7 of it)
//   gelu_tanh     x / (1 + e(-2 u)), u = sqrt(2 / pi) * (x + 0.044715 x^3)
//   exp           e(x)
//   abs           |x|
//   sqrt          of functions_f32.h; rsqrt is 1 / sqrt(x), reciprocal 1 / x
//   log           of functions_f32.h
//   erf           |x| < 0.5: a polynomial of degree 13; else 1 - erfc(x)
//   elu           x > 0 ? x : alpha * (2 t / (1 - t)), t = tanh(x / 2)
//   softplus      max(x, 0) + log(1 + e(-|x|))
//   mish          x < 20 ? x * n / (n + 2), n = e(x) * (e(x) + 2) : x
//
// Results are canonical (output_f32.h); NaN gives NaN. Straight-line code, compiled once an instruction
// set (unary_f32_rows.h), the same operations lane by lane. y may be x; no other overlap is allowed.
#pragma once

#include "intaglio/isa.h"
#include "kernels/arithmetic/output_f32.h"

namespace intaglio {

enum class UnaryF32 : int32_t {
  kLeakyRelu,
  kSigmoid,
  kTanh,
  kHardSwish,
  kHardSigmoid,
  kSwish,
  kGelu,
  kExp,
  kAbs,
  kSqrt,
  kRsqrt,
  kReciprocal,
  kLog,
  kErf,
  kElu,
  kSoftplus,
  kMish,
  kGeluTanh,
};

struct UnaryF32Args {
  UnaryF32 function;
  float alpha, beta;
  const float* x;
  float* y;
  int32_t n;
};

struct UnaryF32Kernel {
  const char* name;
  IsaMask isa;
  void (*function)(const UnaryF32Args& args);  // nullptr where this build has not compiled it
};

// Best first. The scalar kernel is the last one.
int32_t unary_f32_count();
const UnaryF32Kernel& unary_f32_kernel(int32_t index);
// The first that `isa` allows, compiled or not: here pass cpu_isa() & kCompiledIsa.
int32_t unary_f32_select(IsaMask isa);

}  // namespace intaglio
