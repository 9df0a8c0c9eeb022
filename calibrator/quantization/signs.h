// Which tensors can hold no negative value, whatever the samples were.
#pragma once

#include "calibrator/workspace/arena.h"
#include "intaglio/model.h"

namespace intaglio {

// One flag a tensor of an FP32 model. Proved from what the operators say of themselves (ReLU, ReLU6, sigmoid,
// softmax, abs, ...), through those that keep the sign (pooling, resizing, Add, Concat, ...), from constants'
// values and from the pixels of an image input; another input of the model may hold anything, and so may a
// difference.
Span<const bool> non_negative_tensors(const Model& model, Arena& arena);

}  // namespace intaglio
