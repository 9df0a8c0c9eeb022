// Outputs as numbers, and as classes where a model's one output holds a score for each class.
#pragma once

#include <optional>
#include <vector>

#include "intaglio/session.h"

namespace intaglio::cli {

// Scores of classes: one output of more than one element, all along its last dimension.
bool gives_classes(const Model& model);

// The elements as real numbers: int8 codes are dequantized.
std::vector<float> real_values(const TensorView& view);

// Of the largest score; of equal ones the lowest index. Nothing where a score is no number.
std::optional<int32_t> best_class(const std::vector<float>& scores);
// How many classes stand before `wanted`: with a larger score, or an equal one and a lower index.
int32_t rank_of(const std::vector<float>& scores, int32_t wanted);
// The indices of the `count` best, best first.
std::vector<int32_t> best_classes(const std::vector<float>& scores, size_t count);

}  // namespace intaglio::cli
