// Mean of int8 codes over taps (taps.h), with FP32 results: the end of an int8 model.
//
//   acc = sum of (x - x_zero_point) over the taps, exact
//   y = f32(acc) * multiplier            multiplier = s_in / f32(taps); each rounded to nearest even
//
// The caller has proved taps * 255 <= 2^31 - 1. y overlaps nothing.
#pragma once

#include "intaglio/isa.h"
#include "kernels/pool/taps.h"

namespace intaglio {

using MeanS8F32 = void(const int8_t* x, const Taps& taps, int32_t x_zero_point, float multiplier, float* y,
                       int32_t channels);

struct MeanS8F32Kernel {
  const char* name;
  IsaMask isa;
  MeanS8F32* function;  // nullptr where this build has not compiled it
};

// Best first. The scalar kernel is the last one.
int32_t mean_s8_f32_count();
const MeanS8F32Kernel& mean_s8_f32_kernel(int32_t index);
// The first that `isa` allows, compiled or not: here pass cpu_isa() & kCompiledIsa.
int32_t mean_s8_f32_select(IsaMask isa);

}  // namespace intaglio
