// Outputs as numbers, and as classes where a model's one output holds a score for each class.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "calibrator/host/system/outcome.h"
#include "cli/options.h"
#include "intaglio/session.h"

namespace intaglio::cli {

// How many pictures a run takes at once: the first dimension of a picture input, where every output has it. Each place
// holds the same picture here (ImageFolder::load), and results are those of the first. 1: no batch.
int32_t picture_batch(const Model& model);

// Scores of classes: one output of more than one element, all along its last dimension; a row for each picture of a batch.
bool gives_classes(const Model& model);
// The scores that a session's run gave; of a batch those of the first picture. Only where gives_classes().
std::vector<float> class_scores(const Session& session);

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
  // A text file with a name a line, class 0 first, or a TFLite file whose metadata has one. The model must have as many
  // classes.
  static Outcome<ClassNames> read(const std::string& path, const Model& model);

  bool empty() const { return names_.empty(); }
  // Its name, "class 7" where there are none.
  std::string of(int32_t label) const;
  const std::vector<std::string>& all() const { return names_; }

 private:
  std::vector<std::string> names_;
};

// --names; `what` says what they are for.
void add_names_option(CLI::App& app, std::string& path, const std::string& what);

}  // namespace intaglio::cli
