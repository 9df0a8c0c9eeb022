// The recoveries of `calibrate --recover`.
#pragma once

#include <string>

#include "calibrator/host/system/outcome.h"
#include "intaglio/calibrator.h"

namespace intaglio::cli {

// "method, bias, ..."
std::string recovery_names();
// Of "default", "none", "all" or a list of names with commas between them.
Outcome<RecoveryMask> parse_recover(const std::string& list);

}  // namespace intaglio::cli
