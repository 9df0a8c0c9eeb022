// Scales that follow the gradient of the error they make, through fake quantization (fake_quantize.h).
#pragma once

#include "calibrator/recover/weights/layer_weights.h"

namespace intaglio {

// Weight scales, each output channel's by its own gradient of the layer's output error on its real inputs;
// the best of `steps` steps is kept.
LayerError learn_weight_scales(LayerWeights& weights, const WeightWork& work, int32_t steps);

}  // namespace intaglio
