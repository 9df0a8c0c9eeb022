// Networks of a few layers for the tests of runtime and calibrator.
#pragma once

#include <cstdint>
#include <vector>

#include "tests/support/model_builder.h"
#include "tests/support/random.h"

namespace intaglio::test {

// FP32: input "image" [1, 12, 10, 3]; conv + ReLU, depthwise + ReLU6, 1x1 conv added to the first (residual)
// + ReLU, max pool, mean, fully connected, softmax over 5 classes: output "classes". With pixel
// preprocessing: a pixel times `norm`. The weights are made for pixels as they are.
AlignedBytes small_cnn(uint32_t seed = 1, float norm = 1.0f);

// Samples for it: pixels 0..255 around a level of their own.
std::vector<std::vector<float>> small_cnn_samples(size_t count, uint32_t seed = 7);

}  // namespace intaglio::test
