// EQ: each output channel's weight scale, times the factor whose codes give the least error of the layer's
// output on its real inputs.
#pragma once

#include "calibrator/recover/weights/layer_weights.h"

namespace intaglio {

// Factors from 0.7 to 1.05, 1 among them: rarely is a largest weight worth a finer step for all the others,
// but often do the others fall better on a grid a little narrower or wider.
inline constexpr int32_t kScaleFactors = 32;
double scale_factor(int32_t i);  // 0 <= i < kScaleFactors; scale_factor(0) is 1

LayerError search_weight_scales(LayerWeights& weights, const WeightWork& work);

}  // namespace intaglio
