// Outputs as numbers, and as classes where a model's one output holds a score for each class.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "calibrator/host/system/outcome.h"
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

// What classes are called.
class ClassNames {
 public:
  // None: classes are shown by number.
  ClassNames() = default;
  // A text file with a name a line, class 0 first. The model must have as many classes.
  static Outcome<ClassNames> read(const std::string& path, const Model& model);

  bool empty() const { return names_.empty(); }
  // Its name, "class 7" where there are none.
  std::string of(int32_t label) const;

 private:
  std::vector<std::string> names_;
};

}  // namespace intaglio::cli
