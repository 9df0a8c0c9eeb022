// Every layer of the int8 model against the same layer in FP32, over all samples.
#pragma once

#include "calibrator/bake/int8_model.h"
#include "calibrator/judge/replay.h"

namespace intaglio {

// As many samples at once as there are lanes; their sums are added in the samples' order. The list is made in the int8
// model's arena. kCancelled where `progress` says so, kOutOfMemory.
Result<Span<LayerReport>> report_layers(FloatModel& fp32, Int8Model& int8, Replay& samples,
                                        const Progress& progress);

}  // namespace intaglio
