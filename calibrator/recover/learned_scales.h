// Scales that follow the gradient of the error they make, through fake quantization (fake_quantize.h).
#pragma once

#include "calibrator/ranges.h"
#include "calibrator/recover/layer_weights.h"

namespace intaglio {

// Weight scales, each output channel's by its own gradient of the layer's output error on its real inputs;
// the best of `steps` steps is kept.
LayerError learn_weight_scales(LayerWeights& weights, const WeightWork& work, int32_t steps);

// A tensor's values with what an error of each is worth to the layers that read it.
struct WeighedValues {
  Span<const float> values, weights;  // of the same size
};
// Weighed squared error of fake quantization over a range.
double range_error(const WeighedValues& values, const Range& range, bool symmetric);

// The range for 256 codes that the gradient of the weighed squared error leads to from `start`, in `steps`
// steps; an end at zero stays there. With `symmetric` both ends move together. Never worse than `start` on
// these values.
Range learn_range(const WeighedValues& values, const Range& start, bool symmetric, int32_t steps);

}  // namespace intaglio
