#include "tools/judge_models.h"

#include <algorithm>

#include "calibrator/host/system/wording.h"
#include "intaglio/describe.h"
#include "tools/calibration_figures.h"
#include "tools/model_contents.h"
#include "tools/sample_checks.h"

namespace intaglio::tools {
namespace {

PairedResult judge(const Comparison& comparison, const std::vector<int32_t>& wanted) {
  PairedResult result;
  for (size_t i = 0; i < wanted.size(); ++i) {
    const bool reference = comparison.reference_classes[i] == wanted[i];
    const bool test = comparison.test_classes[i] == wanted[i];
    result.reference_right += reference ? 1 : 0;
    result.test_right += test ? 1 : 0;
    result.lost += reference && !test ? 1 : 0;
    result.won += !reference && test ? 1 : 0;
  }
  return result;
}

bool same_recipes(const Model& a, const Model& b) {
  if (a.image_count() != b.image_count()) return false;
  for (int32_t i = 0; i < a.image_count(); ++i) {
    const ImageInput x = a.image(i), y = b.image(i);
    if (x.input != y.input || x.color != y.color || x.resize != y.resize || x.border != y.border ||
        x.channels != y.channels)
      return false;
    for (int32_t c = 0; c < x.channels; ++c) {
      if (x.mean[c] != y.mean[c] || x.norm[c] != y.norm[c]) return false;
    }
  }
  return true;
}

}  // namespace

double percent_of(size_t part, size_t whole) {
  return 100 * static_cast<double>(part) / static_cast<double>(whole);
}

namespace {

Json comparison_json(const Comparison& comparison, const Model& reference, const Model& test, size_t count) {
  const NodeNumbers numbers(reference);
  const OutputFigures figures = comparison.figures();
  const auto agreement = comparison.agreement();
  Json json{{"count", count},
            {"agreement", agreement ? Json(*agreement) : Json(nullptr)},
            {"cosine", json_number(figures.cosine)},
            {"sqnr_db", json_number(figures.sqnr)},
            {"errors", json_of(comparison.errors)},
            {"worst", json_of(worst_part(comparison.parts))},
            {"channels_scaled", comparison.scaled},
            {"channels_shifted", comparison.shifted},
            {"layers", Json::array()}};
  for (const LayerReport& layer : comparison.layers) {
    const std::string tensor = test.tensor(layer.tensor).name;
    json["layers"].push_back({{"node", numbers.json(tensor)},
                              {"name", numbers.name(tensor)},
                              {"tensor", tensor},
                              {"op", op_name(test.node(layer.node).op)},
                              {"cosine", json_number(cosine(layer))},
                              {"sqnr_db", json_number(sqnr_db(layer))},
                              {"clipped", json_number(layer.clipped)}});
  }
  return json;
}

std::vector<std::string> names_of(const Samples& samples) {
  std::vector<std::string> names;
  for (size_t i = 0; i < samples.count(); ++i) names.push_back(samples.name(i));
  return names;
}

bool labels_boxes(const LabelChoice& labels, const std::vector<std::string>& samples) {
  return !labels.path.empty() && BoxLabels::are_at(labels.path, samples);
}

Outcome<ClassNames> names_of_boxes(const LabelChoice& labels) {
  return labels.names.empty() ? ClassNames() : ClassNames::read(labels.names);
}

Failure no_boxes(const LoadedModel& file, const std::string& why) { return {file.path() + ": " + why}; }

Failure no_detector(const LoadedModel& file) {
  return no_boxes(
      file,
      "is no detector of pictures: it gives classes, or takes something else than one picture at a time");
}

// Finds boxes in the runs of both models of a comparison. The first run of the reference says how, or that it gives none.
class BothDetect {
 public:
  static Outcome<BothDetect> open(const LoadedModel& reference, const LoadedModel& test,
                                  const Samples& samples, const CompareChoice& choice, bool labelled,
                                  Work& work) {
    const bool asked = labelled || choice.detections.is_given();
    BothDetect both(reference, test, asked);
    if (!Detector::may_be(reference.model(), samples) ||
        reference.model().outputs().size != test.model().outputs().size) {
      if (asked) return no_detector(reference);
      return both;
    }
    const auto names = names_of_boxes(choice.labels);
    if (!names) return names.failure();
    both.detector_.emplace(reference.model(), choice.detections, names->all().size());
    if (labelled) {
      auto labels = LabelledPictures::open(choice.labels.path, names->all(), choice.samples, samples,
                                           reference.model(), work);
      if (!labels) return labels.failure();
      both.labels_ = std::move(*labels);
    }
    return both;
  }

  // Both have run the sample `i`.
  Outcome<Done> add(size_t i, const Session& fp32, const Session& test, const Work& work) {
    if (!detector_) return Done{};
    if (!detector_->is_known())
      if (auto step = begin(fp32, work); !step) return step;
    if (!detector_) return Done{};
    if (auto step = beside_.keep(*detector_, fp32); !step) return without(reference_, step.message(), work);
    if (auto step = beside_.add(*detector_, test); !step) return without(test_, step.message(), work);
    if (!labels_) return Done{};
    if (auto step = labels_->add(i, fp32, *detector_, reference_right_); !step) return step;
    return labels_->add(i, test, *detector_, test_right_);
  }

  std::optional<DetectionComparison> result() const {
    if (!detector_ || !detector_->is_known()) return std::nullopt;
    const float least = detector_->choice().least();
    DetectionComparison comparison = beside_.result(*detector_);
    if (labels_) {
      comparison.reference_labels = {reference_right_.counts(least), reference_right_.mean_precision()};
      comparison.test_labels = {test_right_.counts(least), test_right_.mean_precision()};
    }
    return comparison;
  }

 private:
  BothDetect(const LoadedModel& reference, const LoadedModel& test, bool asked)
      : reference_(reference), test_(test), asked_(asked) {}

  Outcome<Done> begin(const Session& fp32, const Work& work) {
    const auto known = detector_->recognize(fp32);
    if (known) return labels_ ? labels_->check_classes(*detector_) : Done{};
    const Span<const uint8_t> told = reference_.model().answers();
    if (asked_ || std::any_of(told.begin(), told.end(), [](uint8_t kind) {
          return static_cast<AnswerKind>(kind) == AnswerKind::kBoxes;
        }))
      return without(reference_, known.message(), work);
    detector_.reset();
    return Done{};
  }

  // The comparison goes on without boxes, unless they were asked for.
  Outcome<Done> without(const LoadedModel& file, const std::string& why, const Work& work) {
    if (asked_) return no_boxes(file, why);
    work.note(file.path() + ": no boxes are counted, since " + why);
    detector_.reset();
    return Done{};
  }

  const LoadedModel &reference_, &test_;
  bool asked_;  // for boxes: a failure to find any is one of the comparison
  std::optional<Detector> detector_;
  std::optional<LabelledPictures> labels_;
  BoxesBeside beside_;
  DetectionTally reference_right_, test_right_;
};

Outcome<ComparedModels> compare_stoppable(const LoadedModel& reference_file, const LoadedModel& test_file,
                                          const CompareChoice& choice, Work& work) {
  const Model& test_model = test_file.model();
  if (auto step = check_comparable(reference_file, test_file); !step) return step.failure();
  if (!same_recipes(reference_file.model(), test_model))
    work.warn("the models have different preprocessing; both get the inputs that " + reference_file.path() +
              " makes");
  auto reference = LoadedSession::create(reference_file, choice.execution);
  if (!reference) return reference.failure();
  auto test = LoadedSession::create(test_file, choice.execution);
  if (!test) return test.failure();
  const auto samples = Samples::open(choice.samples, reference_file, work);
  if (!samples) return samples.failure();
  warn_of_units(*samples, reference_file.model(), work);
  ComparedModels found;
  found.count = samples->count();
  if (reference_file.model().state_count() > 0) {
    if (!choice.labels.empty())
      return Failure{option_word("labels") + ": " + reference_file.path() + " has states; " +
                     tool_word("eval", "steps") + " judges sequences"};
    const auto sequences = Sequences::of(choice.steps, choice.samples, *samples, reference_file, work);
    if (!sequences) return sequences.failure();
    const auto figures =
        compare_sequences(reference_file, test_model, *samples, *sequences, choice.execution, work);
    if (!figures) return figures.failure();
    found.sequences = *figures;
    return found;
  }
  Outcome<std::vector<int32_t>> wanted = std::vector<int32_t>();
  const bool of_boxes = labels_boxes(choice.labels, names_of(*samples));
  const bool of_classes = !choice.labels.empty() && !of_boxes;
  auto both = BothDetect::open(reference_file, test_file, *samples, choice, of_boxes, work);
  if (!both) return both.failure();
  if (of_classes) {
    if (!may_give_classes(reference_file.model(), *samples))
      return no_classes(reference_file, *samples, "; leave " + option_word("labels") + " out");
    wanted = right_classes(choice.labels, names_of(*samples), reference_file.model(), choice.samples, work);
    if (!wanted) return wanted.failure();
  }
  if (const int64_t gone = channels_left_out(test_model); gone > 0)
    work.note(test_file.path() + ": " + std::to_string(gone) +
              " channels of one code were left out at import; their layers are not compared. " +
              tool_word("import", "keep-dead") + " keeps them");
  if (choice.steps > 0)
    work.note(option_word("steps") + " has no effect: " + reference_file.path() + " has no state");
  auto comparison = compare_models(reference_file, *reference, test_model, *test, *samples, choice.alone,
                                   work, [&](size_t i) { return both->add(i, **reference, **test, work); });
  if (!comparison) return comparison.failure();
  found.detections = both->result();
  found.layers = std::move(*comparison);
  if (found.layers.layers.empty())
    return Failure{test_file.path() + ": no layer has the name of one in " + reference_file.path() +
                   "; compare models that were made from one network"};
  if (!of_classes) return found;
  if (found.layers.reference_classes.empty())
    return Failure{test_file.path() + ": its output holds no scores of the classes of " +
                   reference_file.path() + "; leave " + option_word("labels") + " out"};
  found.paired = judge(found.layers, *wanted);
  return found;
}

}  // namespace

Outcome<Done> check_comparable(const LoadedModel& reference, const LoadedModel& test) {
  if (check_float(reference)) return Done{};
  return Failure{reference.path() + ": is not FP32 throughout, and errors are those against an FP32 model; " +
                 (check_float(test)
                      ? "name " + test.path() + ", which is FP32, first"
                      : "name the model first that " + tool_word("import") + " made from the float network")};
}

Outcome<ComparedModels> compare(const LoadedModel& reference, const LoadedModel& test,
                                const CompareChoice& choice, Work& work) {
  return stoppable([&] { return compare_stoppable(reference, test, choice, work); });
}

Json json_of(const ComparedModels& compared, const Model& reference, const Model& test) {
  if (const auto& figures = compared.sequences)
    return {{"sequences", figures->sequences},
            {"steps", figures->steps},
            {"sqnr_db", json_number(figures->sqnr)},
            {"late_sqnr_db", json_number(figures->late_sqnr)}};
  Json json = comparison_json(compared.layers, reference, test, compared.count);
  if (const auto& paired = compared.paired) {
    json["top1_a"] = percent_of(paired->reference_right, compared.count);
    json["top1_b"] = percent_of(paired->test_right, compared.count);
    json["lost"] = paired->lost;
    json["won"] = paired->won;
    json["loss_is_real"] = paired->loss_is_real();
  }
  if (const auto& detections = compared.detections) json["detections"] = json_of(*detections);
  return json;
}

namespace {

constexpr int32_t kTopClasses = 5;

Outcome<Evaluation> evaluate_boxes(const LoadedModel& file, LoadedSession& session, const Samples& samples,
                                   const EvaluateChoice& choice, Work& work) {
  if (!Detector::may_be(file.model(), samples)) return no_detector(file);
  const auto names = names_of_boxes(choice.labels);
  if (!names) return names.failure();
  const auto labels =
      LabelledPictures::open(choice.labels.path, names->all(), choice.samples, samples, file.model(), work);
  if (!labels) return labels.failure();
  Detector detector(file.model(), choice.detections, names->all().size());
  DetectionTally tally;
  for (size_t i = 0; i < samples.count(); ++i) {
    work.show("evaluating", i, samples.count());
    if (auto loaded = samples.load(i, *session); !loaded) return loaded.failure();
    (*session).run();
    if (!detector.is_known()) {
      if (auto known = detector.recognize(*session); !known) return no_boxes(file, known.message());
      if (auto step = labels->check_classes(detector); !step) return step.failure();
    }
    if (auto step = labels->add(i, *session, detector, tally); !step) return step.failure();
  }
  work.clear();
  Evaluation found;
  found.count = samples.count();
  found.detections = {detector.decoder(),
                      choice.detections.score.value_or(kLeastScore),
                      {tally.counts(choice.detections.least()), tally.mean_precision()}};
  return found;
}

Outcome<Evaluation> evaluate_stoppable(const LoadedModel& file, const EvaluateChoice& choice, Work& work) {
  auto session = LoadedSession::create(file, choice.execution, choice.ops);
  if (!session) return session.failure();
  const auto samples = Samples::open(choice.samples, file, work);
  if (!samples) return samples.failure();
  if (labels_boxes(choice.labels, names_of(*samples)))
    return evaluate_boxes(file, *session, *samples, choice, work);
  if (choice.detections.is_given())
    return Failure{option_word(choice.detections.score ? "score" : "decoder") +
                   " has no effect: " + option_word("labels") + " are classes, and it is about boxes"};
  if (!may_give_classes(file.model(), *samples))
    return no_classes(file, *samples, ", which eval needs; see " + tool_word("compare"));
  const ClassOutput classes = *possible_class_output(file.model());
  const auto sequences = Sequences::of(choice.steps, choice.samples, *samples, file, work);
  if (!sequences) return sequences.failure();
  const bool has_states = file.model().state_count() > 0;
  std::vector<std::string> names;  // of each sequence's last step
  for (size_t i = 0; i < samples->count(); ++i)
    if (sequences->ends(i))
      names.push_back(has_states && samples->is_array() ? std::to_string(sequences->number(i))
                                                        : samples->name(i));
  const auto wanted = right_classes(choice.labels, names, file.model(), choice.samples, work);
  if (!wanted) return wanted.failure();
  Evaluation found;
  found.count = sequences->count();
  warn_of_units(*samples, file.model(), work);
  for (size_t i = 0; i < samples->count(); ++i) {
    work.show("evaluating", i, samples->count());
    if (sequences->begins(i)) (**session).reset();
    if (auto loaded = samples->load(i, **session); !loaded) return loaded.failure();
    (**session).run();
    if (!sequences->ends(i)) continue;
    const std::vector<float> scores = class_scores(**session, classes);
    if (!best_class(scores))
      return Failure{file.path() + ": gives a score that is no number for " + samples->name(i)};
    const int32_t rank = rank_of(scores, (*wanted)[sequences->number(i)]);
    found.right += rank == 0 ? 1 : 0;
    found.within += rank < kTopClasses ? 1 : 0;
  }
  work.clear();
  return found;
}

}  // namespace

Outcome<Evaluation> evaluate(const LoadedModel& file, const EvaluateChoice& choice, Work& work) {
  return stoppable([&] { return evaluate_stoppable(file, choice, work); });
}

Json json_of(const Evaluation& found) {
  if (const auto& boxes = found.detections) {
    Json json{{"count", found.count}, {"decoder", boxes->decoder}, {"score", boxes->score}};
    json.update(json_of(boxes->figures));
    return json;
  }
  return {{"count", found.count}, {"top1", found.top1()}, {"top5", found.top5()}};
}

}  // namespace intaglio::tools
