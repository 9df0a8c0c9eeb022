// From what has been seen to the parameters of every slot.
#pragma once

#include "calibrator/calibrator_memory.h"
#include "calibrator/slot_map.h"

namespace intaglio {

// Makes memory.slots anew, with parameters for every root that is no weight or bias (those get theirs when
// they are baked); then Concats, and with Compat::kPpq additions, share theirs.
Error choose_params(CalibratorMemory& memory);

}  // namespace intaglio
