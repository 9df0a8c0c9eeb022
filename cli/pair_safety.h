// How much of a layer's weights AVX2 multiplies at full speed: kernels/gemm/gemm_s8_pairs.h.
#pragma once

#include <optional>

#include "intaglio/model.h"

namespace intaglio::cli {

// The share, 0..1, of the steps of four depths whose pairs no code can saturate; none where the node is no
// int8 convolution or fully connected layer. What is not safe is multiplied in two halves, to the same
// result.
std::optional<double> safe_pairs(const Model& model, const NodeInfo& node);

}  // namespace intaglio::cli
