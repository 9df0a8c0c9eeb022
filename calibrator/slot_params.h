// From what has been seen to the parameters of every slot.
#pragma once

#include "calibrator/calibrator_memory.h"

namespace intaglio {

// Gives each root of a joint set its scale and zero point; then Concats share theirs with inputs that lose
// little.
void choose_params(CalibratorMemory& memory);

}  // namespace intaglio
