// One row of int8 codes times plain int8 weights, with FP32 results: the end of an int8 model.
//
//   acc = bias[c] + sum over i of x[i] * w[c * k + i]   may wrap in between: the caller has proved the whole
//   y[c] = f32(acc) * multiplier[c]                     one conversion, one multiply, each to nearest even
//
// x [k] codes, w [n, k] in [-128, 127], bias [n] with the zero point of x folded in, multiplier [n] finite;
// y [n]. n and k at least 1; no alignment is needed. y overlaps nothing.
#pragma once

#include <cstddef>
#include <cstdint>

#include "intaglio/isa.h"

namespace intaglio {

using GemvS8F32 = void(const int8_t* x, const int8_t* w, const int32_t* bias, const float* multiplier,
                       float* y, int32_t n, int32_t k);

struct GemvS8F32Kernel {
  const char* name;
  IsaMask isa;
  GemvS8F32* function;  // nullptr where this build has not compiled it
};

// Best first. The scalar kernel is the last one.
int32_t gemv_s8_f32_count();
const GemvS8F32Kernel& gemv_s8_f32_kernel(int32_t index);
// The first that `isa` allows, compiled or not: here pass cpu_isa() & kCompiledIsa.
int32_t gemv_s8_f32_select(IsaMask isa);

}  // namespace intaglio
