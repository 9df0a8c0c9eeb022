// Scales with which every Add and Sub has an exact form.
#pragma once

#include "calibrator/calibrator_memory.h"

namespace intaglio {

// An exact addition takes scales of its inputs up to 2^14 times the output's (runtime/add_params.h). Where
// nearly nothing is left of the operands (a - a), the output gets a wider scale, 2^-12 of the larger input's:
// still far finer than one code of the operands, which is all that int8 can tell apart there. Parameters that
// the caller gave stay. After choose_params().
Error widen_sums(CalibratorMemory& memory);

}  // namespace intaglio
