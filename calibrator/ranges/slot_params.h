// From what has been seen to the parameters of every slot.
#pragma once

#include "calibrator/calibrator_memory.h"
#include "calibrator/quantization/slot_map.h"

namespace intaglio {

inline constexpr int32_t kBothHalves = -1;

// Makes memory.slots anew, with parameters for every root that is no weight or bias (those get theirs when
// they are baked); then Concats, and with Compat::kPpq additions, share theirs.
// With a `half`, 0 or 1, from the samples with an even or an odd digest alone.
Error choose_params(CalibratorMemory& memory, int32_t half = kBothHalves);

}  // namespace intaglio
