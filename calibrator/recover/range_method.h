// The method of choosing ranges whose int8 model comes nearest to FP32. What a few values far from all others
// are worth only the network's outputs tell: where they cost a tensor most of its codes, a method that clips
// them can gain 10 dB that the error of each tensor alone does not show.
#pragma once

#include "calibrator/recover/recovery.h"

namespace intaglio {

// Where the options say RangeMethod::kAuto, another method may take its place, in the options too. Each is
// judged by the outputs for samples that its ranges do not come from: those of one half of the samples with
// the ranges of the other half, both ways. On the samples that gave the ranges the narrowest one looks best,
// and loses up to 10 dB on others.
Error choose_method(RecoveryContext& context);

}  // namespace intaglio
