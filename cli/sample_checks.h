// Looks at the samples before they calibrate a model: the signs of a wrong folder or a wrong preprocessing.
#pragma once

#include <vector>

#include "cli/output.h"
#include "cli/samples.h"

namespace intaglio::cli {

// Warns of what is suspicious. Gives the class of each sample; nothing where the output is not classes.
Outcome<std::vector<int32_t>> check_samples(const LoadedModel& file, LoadedSession& session,
                                            const Samples& samples, ProgressLine& progress);

}  // namespace intaglio::cli
