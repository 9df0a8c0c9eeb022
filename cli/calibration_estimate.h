// How long a calibration takes, told from its first stages.
#pragma once

#include "cli/output.h"
#include "intaglio/calibrator.h"

namespace intaglio::cli {

// Held-out figures are in it; samples that a state adds, a search for layers and the report's advice are not. It knows once
// the samples were observed, baked and replayed for the first time, and only for recoveries whose cost these stages tell:
// none, bias, default. `layers`: each layer is judged as well.
TimeEstimate estimate_of(RecoveryMask recover, bool layers);

}  // namespace intaglio::cli
