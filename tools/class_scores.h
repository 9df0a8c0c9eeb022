// Outputs as numbers, and as classes where an output holds a score for each class (answer_kind.h).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "calibrator/host/pictures/labels.h"
#include "calibrator/host/system/outcome.h"
#include "intaglio/session.h"
#include "tools/answer_kind.h"
#include "tools/samples.h"
#include "tools/work.h"

namespace intaglio::tools {

// How many places of a run hold one and the same sample: of pictures all of a batch (ImageFolder::load), and results are
// those of the first. 1: a sample of an array fills the places itself.
int32_t equal_places(const Model& model, const Samples& samples);
// The same, where it is known which inputs hold pictures: one flag an input.
int32_t equal_places(const Model& model, const std::vector<bool>& holds_pictures);

// Whether a run gives a class for one sample. An array's sample that fills a batch has no one class.
bool gives_classes(const Model& model, const Samples& samples);
// Whether what it gives may be scores of classes, as labels and names say.
bool may_give_classes(const Model& model, const Samples& samples);
// Why it gives none.
Failure no_classes(const LoadedModel& file, const Samples& samples, const std::string& remedy);
// The scores that a session's run gave; of a batch those of the first picture. The session's model has the output, or was made
// from the model that has it. No index.
std::vector<float> class_scores(const Session& session, const ClassOutput& of);
// Whether they are shares of one.
bool are_probabilities(const std::vector<float>& scores);
// The class that the run chose; nothing where a score is no number.
std::optional<int32_t> chosen_class(const Session& session, const ClassOutput& of);

// The elements as real numbers: int8 codes are dequantized.
std::vector<float> real_values(const TensorView& view);

// The class of the largest score; among equal ones the lowest index. Nothing where a score is no number.
std::optional<int32_t> best_class(const std::vector<float>& scores);
// How many classes stand before `wanted`: with a larger score, or an equal one and a lower index.
int32_t rank_of(const std::vector<float>& scores, int32_t wanted);
// The indices of the `count` best, best first.
std::vector<int32_t> best_classes(const std::vector<float>& scores, size_t count);

// The names of classes.
class ClassNames {
 public:
  // None: classes are shown by number.
  ClassNames() = default;
  // A text file with a name a line, class 0 first, or a TFLite file whose metadata has one. The model must have as many
  // classes.
  static Outcome<ClassNames> read(const std::string& path, const Model& model);
  // The same of a file that has been read.
  static Outcome<ClassNames> of_file(const std::string& path, Span<const uint8_t> text, const Model& model);
  // The same for so many classes; 0: for as many as it names.
  static Outcome<ClassNames> of_file(const std::string& path, Span<const uint8_t> text, size_t classes);
  static Outcome<ClassNames> read(const std::string& path);

  bool empty() const { return names_.empty(); }
  // Its name, "class 7" where there are none.
  std::string of(int32_t label) const;
  const std::vector<std::string>& all() const { return names_; }

 private:
  std::vector<std::string> names_;
};

// The right classes of samples.
struct LabelChoice {
  std::string path;              // a list, or a folder of folders (labels.h)
  std::string names;             // the path of the classes' names; may be empty
  std::vector<int32_t> classes;  // instead of a path: of each sample, or sequence, in order

  bool empty() const { return path.empty() && classes.empty(); }
};
// Reads the labels of a list or folder. Facts that the user should know are told as notes. Only with a possible_class_output().
Outcome<Labels> read_labels(const LabelChoice& choice, const Model& model, const Work& work);
// The class of each of these samples. Warns of labels by order that are more than there are, where `samples` takes all.
Outcome<std::vector<int32_t>> right_classes(const LabelChoice& choice, const std::vector<std::string>& names,
                                            const Model& model, const SampleChoice& samples, Work& work);

}  // namespace intaglio::tools
