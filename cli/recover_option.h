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

// Sets options.recover by such a list, and the other options. "default" adds equalization where normalizations of the network have
// factors, and where both halves of so many samples can judge it; `samples`: that can be had again.
Outcome<Done> set_recover(const std::string& list, const Model& fp32, size_t samples,
                          CalibratorOptions& options);

}  // namespace intaglio::cli
