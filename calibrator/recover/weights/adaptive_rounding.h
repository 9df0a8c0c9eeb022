// AdaRound: each weight is rounded up or down, whichever gives the least error of the layer's output on its
// real inputs.
//
//   minimize (s q - w)' C (s q - w) over q with q[k] in {floor(w[k] / s), ceil(w[k] / s)}
//
// C: covariance of the layer's quantized inputs. AdaRound descends along a relaxed gradient of this form;
// with C at hand each change of a code is scored exactly, so this descends from code to code and ends where
// neither one code nor a pair of them can improve it. Nothing is random.
#pragma once

#include "calibrator/recover/weights/layer_weights.h"

namespace intaglio {

// At most `sweeps` passes over the weights of a row, from the codes that it has; a clipped weight stays.
LayerError round_adaptively(LayerWeights& weights, const WeightWork& work, int32_t sweeps);

}  // namespace intaglio
