// Recoveries of weights, block by block under the guard. A block is the span between two places where a
// single tensor leads from one part of the model into the next. With every fourth sample held out, the layers
// of a block are changed by what the others show; the change stays where both the block's own output and the
// model's outputs come nearer to FP32 on those held out. All blocks are tried at once first, which shows more
// than each one's small part; they are judged one by one where that fails.
#pragma once

#include "calibrator/recover/recovery.h"

namespace intaglio {

// `which`: one of recovery::kLayers.
Result<Candidate> change_layers(RecoveryContext& context, RecoveryMask which, const Candidate& now);

// Bytes that these take from the int8 model's arena.
uint64_t layer_recovery_bytes(const Model& fp32, const CalibratorOptions& options);

}  // namespace intaglio
