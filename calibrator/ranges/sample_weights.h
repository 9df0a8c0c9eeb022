// Each sample's errors count by its own power: a few samples that reach far would otherwise outweigh all others.
#pragma once

#include "calibrator/observe/observer.h"

namespace intaglio {

// Counts become weighted ones. A sample k levels below the highest counts 4^k times, 4^kPowerLevels times at most. A bin's
// weight is the mean of its block's values. What does not fit 32 bits is as much as fits.
void weigh_samples(TensorObserver& observer);

}  // namespace intaglio
