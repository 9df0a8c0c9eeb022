// Recovery of activations' ranges. The model is baked anew for each attempt, with the biases that it had as
// reals, and judged by its int8 kernels: what is learned from three samples of four stays where the outputs
// for the fourth come nearer to FP32.
#pragma once

#include "calibrator/recover/recovery.h"

namespace intaglio {

// Each range in turn a tenth narrower or wider, about zero, as long as the model's error falls.
Error search_ranges(RecoveryContext& context);

// Bytes that it takes from context.persistent.
uint64_t range_recovery_bytes(const Model& fp32, const CalibratorOptions& options);

}  // namespace intaglio
