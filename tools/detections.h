// What detectors find in pictures, beside what another model finds or what labels say.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "intaglio/session.h"
#include "tools/box_labels.h"
#include "tools/decoders.h"
#include "tools/json.h"
#include "tools/samples.h"
#include "tools/work.h"

namespace intaglio::tools {

struct DetectionChoice {
  std::string decoder;          // empty: the first run says which
  std::optional<double> score;  // least one, 0 to 1; kLeastScore

  bool is_given() const { return !decoder.empty() || score; }
  float least() const { return score ? static_cast<float>(*score) : kLeastScore; }
};

// Boxes of one class that overlap by at least one half are a pair, one to one: the box with the highest score chooses first, and takes
// the one that it overlaps most.
struct DetectionCounts {
  size_t right = 0, wrong = 0, missed = 0;  // found with a pair, found without, wanted without

  // Shares, 0 to 1; NaN of nothing.
  double precision() const { return share(right, right + wrong); }
  double recall() const { return share(right, right + missed); }
  double f1() const { return share(2 * right, 2 * right + wrong + missed); }

 private:
  static double share(size_t part, size_t whole) {
    return static_cast<double>(part) / static_cast<double>(whole);
  }
};

class DetectionTally {
 public:
  // One picture: `found` as decode() gives it.
  void add(const std::vector<Box>& found, const WantedBoxes& wanted);
  // Of the boxes with at least this score.
  DetectionCounts counts(float least) const;
  // The mean over the classes that labels have of the average precision at an overlap of one half: over 101 recalls, as COCO's
  // evaluation has it, of all boxes that were added. NaN where nothing is labelled.
  double mean_precision() const;

 private:
  struct Found {
    float score;
    int32_t label;
    bool is_right;
  };
  std::vector<Found> found_;
  std::vector<size_t> wanted_;  // of each class
};

// The boxes of a model's runs.
class Detector {
 public:
  // Whether a run is one picture, and gives what might be boxes.
  static bool may_be(const Model& model, const Samples& samples);
  // `classes`: how many names say that it has; 0: unknown.
  Detector(const Model& model, const DetectionChoice& choice, size_t classes)
      : model_(model), choice_(choice), names_(static_cast<int32_t>(classes)) {}

  // The first run: finds its decoder. A failure says why there is none.
  Outcome<Done> recognize(const Session& run);
  bool is_known() const { return decoder_ != nullptr; }
  const char* decoder() const { return decoder_->name; }
  int32_t classes() const { return classes_; }  // 0: unknown
  const DetectionChoice& choice() const { return choice_; }
  // In pixels of the input, the best one first. Once the decoder is known.
  Outcome<std::vector<Box>> boxes(const Session& run, float least) const;

 private:
  DetectorRun run_of(const Session& session) const;

  const Model& model_;
  DetectionChoice choice_;
  int32_t names_, classes_ = 0;
  const Decoder* decoder_ = nullptr;
};

struct DetectionFigures {
  DetectionCounts counts;
  double mean_precision = 0;
};
// {right, wrong, missed, precision, recall, f1}, and map50 where labels were given
Json json_of(const DetectionCounts& counts);
Json json_of(const DetectionFigures& figures);

// Pictures with labelled boxes, against which a model's are counted.
class LabelledPictures {
 public:
  // `names`: of the classes; may be empty.
  static Outcome<LabelledPictures> open(const std::string& labels, const std::vector<std::string>& names,
                                        const SampleChoice& choice, const Samples& samples,
                                        const Model& model, Work& work);
  Outcome<Done> check_classes(const Detector& detector) const {
    return labels_.check_classes(detector.classes());
  }
  // What a run found in the sample `i`.
  Outcome<Done> add(size_t i, const Session& run, const Detector& detector, DetectionTally& tally) const;

 private:
  Outcome<PictureInfo> picture(size_t i) const;

  BoxLabels labels_;
  SampleChoice choice_;
  std::vector<std::string> samples_;
  ImageInput recipe_;
};

// What two models find in the same pictures.
struct DetectionComparison {
  std::string decoder;
  double score = 0;        // least
  size_t pictures = 0;     // in which FP32 finds something
  DetectionCounts counts;  // of the other model, where what FP32 finds is right
  std::optional<DetectionFigures> reference_labels, test_labels;
};
// {decoder, score, pictures, right, wrong, missed, precision, recall, f1}, and labels_a and labels_b
Json json_of(const DetectionComparison& comparison);

// One after the other: a sample's boxes by FP32, then by the other model. Of a detector that is known.
class BoxesBeside {
 public:
  Outcome<Done> keep(const Detector& detector, const Session& fp32);
  Outcome<Done> add(const Detector& detector, const Session& test);
  DetectionComparison result(const Detector& detector) const;  // without labels

 private:
  std::vector<Box> kept_;
  size_t pictures_ = 0;
  DetectionTally tally_;
};

}  // namespace intaglio::tools
