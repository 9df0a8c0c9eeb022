// The peak rate of this CPU's multiply-accumulate instructions: independent chains in registers, fastest of
// many.
#pragma once

#include "intaglio/isa.h"

// Multiply-accumulates a second of the instruction that kernels of `isa` are built on: vpdpbusd; vpmaddubsw,
// vpmaddwd and vpaddd with AVX2; fused multiply-add. 0: not known for this ISA or not on this machine.
double peak_s8(intaglio::IsaMask isa);
double peak_f32(intaglio::IsaMask isa);
