// What the states of a model hold before each sample of its sequences.
#pragma once

#include "cli/sequences.h"

namespace intaglio::cli {

// Runs the samples through `file`, in FP32, and puts the states that each begins with behind the values of its inputs. From
// then on they fill the inputs of the step model.
Outcome<Done> record_states(const LoadedModel& file, const SessionOptions& options,
                            const Sequences& sequences, Samples& samples);

}  // namespace intaglio::cli
