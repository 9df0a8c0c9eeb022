#include "tools/detections.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "calibrator/host/pictures/image_decode.h"
#include "calibrator/host/system/files.h"
#include "calibrator/host/system/wording.h"
#include "tools/answer_kind.h"
#include "tools/class_scores.h"
#include "tools/placement.h"

namespace intaglio::tools {
namespace {

constexpr float kOverlapOfPairs = 0.5f;
constexpr float kLeastOfAll = 0.001f;  // of boxes that count for the mean precision
constexpr uint64_t kMostPictureBytes = uint64_t{256} << 20;

// Which box of the same class it overlaps most, by at least one half; -1: none.
int32_t pair_of(const Box& box, const std::vector<Box>& wanted, const std::vector<bool>& taken) {
  int32_t best = -1;
  float most = 0;
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (taken[i] || wanted[i].label != box.label) continue;
    const float both = overlap(box, wanted[i]);
    if (both < kOverlapOfPairs || both <= most) continue;
    best = static_cast<int32_t>(i);
    most = both;
  }
  return best;
}

// A crowd hides a box that lies in it by at least one half of the box's area.
bool is_hidden(const Box& box, const std::vector<Box>& crowds) {
  return std::any_of(crowds.begin(), crowds.end(), [&](const Box& crowd) {
    const float width = std::min(box.x1, crowd.x1) - std::max(box.x0, crowd.x0);
    const float height = std::min(box.y1, crowd.y1) - std::max(box.y0, crowd.y0);
    return crowd.label == box.label && width > 0 && height > 0 &&
           width * height >= kOverlapOfPairs * (box.x1 - box.x0) * (box.y1 - box.y0);
  });
}

}  // namespace

void DetectionTally::add(const std::vector<Box>& found, const WantedBoxes& wanted) {
  for (const Box& box : wanted.boxes) {
    const auto label = static_cast<size_t>(box.label);
    if (wanted_.size() <= label) wanted_.resize(label + 1);
    ++wanted_[label];
  }
  std::vector<bool> taken(wanted.boxes.size());
  for (const Box& box : found) {
    const int32_t pair = pair_of(box, wanted.boxes, taken);
    if (pair >= 0) taken[static_cast<size_t>(pair)] = true;
    if (pair >= 0 || !is_hidden(box, wanted.crowds)) found_.push_back({box.score, box.label, pair >= 0});
  }
}

DetectionCounts DetectionTally::counts(float least) const {
  DetectionCounts counts;
  for (const Found& found : found_)
    if (found.score >= least) ++(found.is_right ? counts.right : counts.wrong);
  size_t wanted = 0;
  for (const size_t count : wanted_) wanted += count;
  counts.missed = wanted - counts.right;
  return counts;
}

double DetectionTally::mean_precision() const {
  constexpr size_t kRecalls = 101;  // 0, 0.01, ... 1
  std::vector<Found> order = found_;
  std::stable_sort(order.begin(), order.end(),
                   [](const Found& a, const Found& b) { return a.score > b.score; });
  double sum = 0;
  size_t classes = 0;
  for (size_t label = 0; label < wanted_.size(); ++label) {
    if (wanted_[label] == 0) continue;
    ++classes;
    std::vector<std::pair<size_t, double>> curve;  // right ones so far, precision
    size_t right = 0, count = 0;
    for (const Found& found : order) {
      if (static_cast<size_t>(found.label) != label) continue;
      right += found.is_right ? 1 : 0;
      curve.emplace_back(right, static_cast<double>(right) / static_cast<double>(++count));
    }
    // At each recall the best precision that is had at this or a higher one.
    double best = 0, area = 0;
    size_t recalls = kRecalls;  // that are not summed yet
    for (auto at = curve.rbegin(); at != curve.rend(); ++at) {
      for (; (recalls - 1) * wanted_[label] > at->first * (kRecalls - 1); --recalls) area += best;
      best = std::max(best, at->second);
    }
    area += best * static_cast<double>(recalls);
    sum += area / static_cast<double>(kRecalls);
  }
  return classes == 0 ? std::numeric_limits<double>::quiet_NaN() : sum / static_cast<double>(classes);
}

bool Detector::may_be(const Model& model, const Samples& samples) {
  return model.inputs().size == 1 && model.state_count() == 0 && model.image_count() == 1 &&
         samples.holds_pictures(0) && picture_batch(model) == 1 && !class_output(model);
}

DetectorRun Detector::run_of(const Session& session) const {
  DetectorRun run;
  const Shape input = model_.tensor(model_.inputs()[0]).shape;
  run.height = input[1];
  run.width = input[2];
  run.classes = names_;
  for (size_t o = 0; o < model_.outputs().size; ++o) {
    const TensorView view = session.output(static_cast<int32_t>(o));
    const Shape& shape = view.info.shape;
    run.outputs.push_back({view.info.name, {shape.dims, shape.dims + shape.rank}, real_values(view)});
  }
  return run;
}

Outcome<Done> Detector::recognize(const Session& session) {
  if (!choice_.decoder.empty()) {
    decoder_ = find_decoder(choice_.decoder);
    if (decoder_ == nullptr)
      return Failure{option_word("decoder", choice_.decoder) + ": there is no such decoder; there are " +
                     decoder_names()};
  } else {
    const std::vector<const Decoder*> fitting = fitting_decoders(run_of(session));
    std::string names;
    for (const Decoder* const one : fitting) names += (names.empty() ? "" : " and ") + std::string(one->name);
    if (fitting.size() > 1)
      return Failure{"its outputs may be boxes for the decoders " + names + "; say which with " +
                     option_word("decoder")};
    if (fitting.empty())
      return Failure{
          "its outputs are boxes of no form that is known; with key points or masks beside the classes give " +
          option_word("names") + ", else say which form it is with " + option_word("decoder") + ": " +
          decoder_names()};
    decoder_ = fitting[0];
  }
  try {
    classes_ = decode(*decoder_, run_of(session), 1.0f).classes;
  } catch (const std::runtime_error& error) {
    decoder_ = nullptr;
    return Failure{error.what()};
  }
  if (names_ > 0 && classes_ > 0 && names_ != classes_)
    return Failure{option_word("names") + ": holds " + std::to_string(names_) + " names, the model has " +
                   std::to_string(classes_) + (classes_ == 1 ? " class" : " classes")};
  if (classes_ == 0) classes_ = names_;
  return Done{};
}

Outcome<std::vector<Box>> Detector::boxes(const Session& session, float least) const {
  try {
    return decode(*decoder_, run_of(session), least).boxes;
  } catch (const std::runtime_error& error) {
    return Failure{error.what()};
  }
}

Json json_of(const DetectionCounts& counts) {
  return {{"right", counts.right},
          {"wrong", counts.wrong},
          {"missed", counts.missed},
          {"precision", json_number(counts.precision())},
          {"recall", json_number(counts.recall())},
          {"f1", json_number(counts.f1())}};
}

Json json_of(const DetectionFigures& figures) {
  Json json = json_of(figures.counts);
  json["map50"] = json_number(figures.mean_precision);
  return json;
}

Json json_of(const DetectionComparison& comparison) {
  Json json{{"decoder", comparison.decoder}, {"score", comparison.score}, {"pictures", comparison.pictures}};
  json.update(json_of(comparison.counts));
  if (comparison.reference_labels) json["labels_a"] = json_of(*comparison.reference_labels);
  if (comparison.test_labels) json["labels_b"] = json_of(*comparison.test_labels);
  return json;
}

Outcome<LabelledPictures> LabelledPictures::open(const std::string& labels,
                                                 const std::vector<std::string>& names,
                                                 const SampleChoice& choice, const Samples& samples,
                                                 const Model& model, Work& work) {
  if (samples.is_array())
    return Failure{samples.path(0) +
                   ": is an array, and boxes are of pictures by their names; give a folder"};
  LabelledPictures pictures;
  for (size_t i = 0; i < samples.count(); ++i) pictures.samples_.push_back(samples.name(i));
  auto read = BoxLabels::read(labels, pictures.samples_, names);
  if (!read) return read.failure();
  for (const std::string& note : read->notes()) work.note(note);
  pictures.labels_ = std::move(*read);
  pictures.choice_ = choice;
  pictures.recipe_ = model.image(0);
  return pictures;
}

// The size of a sample.
Outcome<PictureInfo> LabelledPictures::picture(size_t i) const {
  if (choice_.frames) return PictureInfo{choice_.frames->info.width, choice_.frames->info.height};
  const SamplePlace& place = choice_.places[0];
  std::string path = place.name;
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) path = (std::filesystem::path(path) / samples_[i]).string();
  for (const std::string& file : place.files)
    if (std::filesystem::path(file).filename() == samples_[i]) path = file;
  const auto bytes = read_file(path, kMostPictureBytes);
  if (!bytes) return bytes.failure();
  const auto read = decode_picture(bytes->span());
  if (!read) return Failure{path + ": " + read.message()};
  return read->info();
}

Outcome<Done> LabelledPictures::add(size_t i, const Session& run, const Detector& detector,
                                    DetectionTally& tally) const {
  const auto info = picture(i);
  if (!info) return info.failure();
  const auto wanted = labels_.of(i, info->width, info->height);
  if (!wanted) return wanted.failure();
  const auto found = detector.boxes(run, kLeastOfAll);
  if (!found) return found.failure();
  const Shape input = run.input(0).info.shape;
  const Placement place = Placement::of(recipe_.resize, info->width, info->height, input[2], input[1]);
  const auto w = static_cast<float>(info->width), h = static_cast<float>(info->height);
  std::vector<Box> boxes;
  for (const Box& one : *found) {
    Box box = place.in_picture(one);
    box = {std::clamp(box.x0, 0.0f, w),
           std::clamp(box.y0, 0.0f, h),
           std::clamp(box.x1, 0.0f, w),
           std::clamp(box.y1, 0.0f, h),
           box.score,
           box.label};
    boxes.push_back(box);
  }
  tally.add(boxes, *wanted);
  return Done{};
}

Outcome<Done> BoxesBeside::keep(const Detector& detector, const Session& fp32) {
  auto found = detector.boxes(fp32, detector.choice().least());
  if (!found) return found.failure();
  kept_ = std::move(*found);
  return Done{};
}

Outcome<Done> BoxesBeside::add(const Detector& detector, const Session& test) {
  const auto found = detector.boxes(test, detector.choice().least());
  if (!found) return found.failure();
  pictures_ += kept_.empty() ? 0 : 1;
  tally_.add(*found, {std::move(kept_), {}});
  return Done{};
}

DetectionComparison BoxesBeside::result(const Detector& detector) const {
  const DetectionChoice& choice = detector.choice();
  return {detector.decoder(),
          choice.score.value_or(kLeastScore),
          pictures_,
          tally_.counts(choice.least()),
          {},
          {}};
}

}  // namespace intaglio::tools
