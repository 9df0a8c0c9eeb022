// Whether an FP32 classifier of pictures answers more surely with another usual preprocessing than the model's own.
#pragma once

#include <string>

#include "tools/calibration_samples.h"
#include "tools/class_scores.h"

namespace intaglio::tools {

// The recipe that would suit it better, as a clause; empty: none does, or it cannot be seen. Up to 20 samples run in FP32 with the
// model's own recipe and with nine usual ones: pixels of 0 to 255, 0 to 1, -1 to 1, less the means of ImageNet's colors, these over
// their deviations; each in both orders of colors. Another recipe is taken for better
// - of values of like size: where the answers' entropy is lower by a factor and by more than chance, their mutual information with the
//   samples is greater, and they are of as many classes;
// - of values of another size, which make answers surer by themselves: where the answers are of many more classes, or the mutual
//   information is greater by far. Not of fewer than five classes.
// Only for a model of one picture that is one picture a run, samples of pixels, and eight of them.
Outcome<std::string> find_better_recipe(const LoadedModel& file, CalibrationSamples& samples,
                                        const ClassOutput& classes, const SessionOptions& execution,
                                        Work& work);

}  // namespace intaglio::tools
