#include "tools/observed_samples.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "calibrator/host/place_limits.h"
#include "calibrator/host/system/files.h"
#include "calibrator/host/system/wording.h"
#include "calibrator/ranges/auto_rules.h"
#include "tools/calibration_samples.h"
#include "tools/sample_checks.h"
#include "tools/sequences.h"

namespace intaglio::tools {
namespace {

constexpr size_t kMaxReplayBytes = size_t{1} << 30;

FileBytes bytes_of(const std::vector<uint8_t>& bytes) {
  FileBytes copy(bytes.size());
  std::copy(bytes.begin(), bytes.end(), copy.data());
  return copy;
}

Outcome<ObservedSamples> observe_stoppable(const LoadedModel& given, const ObserveChoice& choice,
                                           Work& work) {
  const auto start = std::chrono::steady_clock::now();
  auto steps = CalibratedSteps::of(given);
  if (!steps) return steps.failure();
  const LoadedModel& file = steps->model();
  if (auto step = check_float(file); !step) return step.failure();
  auto samples = Samples::open(choice.samples, given, work);
  if (!samples) return samples.failure();
  if (auto step = steps->read_sequences(choice.steps, choice.samples, choice.execution, *samples, work);
      !step)
    return step.failure();
  CalibrationSamples kept(*samples, file.model());
  const auto facts = check_samples(kept, choice.execution.executor, work);
  if (!facts) return facts.failure();
  QuantizationLists lists;
  CalibratorOptions options;
  if (auto step = set_quantization(choice.quantization, file, work, lists, options); !step)
    return step.failure();
  steps->set(choice.int8_states, lists, options, work);
  std::optional<Rounds> question;
  if (choice.question.size > 0) {
    auto read = read_rounds(choice.asked, choice.question);
    if (!read) return read.failure();
    if (!read->is_question())
      return Failure{choice.asked + ": holds answers, not a question; give what " + tool_word("calibrate") +
                     " has asked"};
    question = std::move(*read);
  }
  options.isa = choice.execution.isa;
  options.executor = choice.execution.executor;
  options.recover = question ? question->recover() : recovery::kNone;
  // Without recoveries it keeps all that these, reports and range methods need, but for kl.
  options.layer_report = !question;
  if (question) {
    const auto replay = Calibrator::replay_bytes(file.model(), static_cast<int32_t>(kept.count()), options);
    if (!replay) return file.failure(replay.error());
    options.replay_bytes = std::min(*replay, kMaxReplayBytes);
  }
  options.progress = {[](void* context, const char* stage, int32_t done, int32_t total) {
                        return show_or_stop(*static_cast<Work*>(context), stage, done, total);
                      },
                      &work};
  const auto needs = Calibrator::measure(file.model(), options);
  if (!needs) return file.failure(needs.error());
  FileBytes memory(needs->total());
  auto calibrator = Calibrator::create(file.model(), {memory.data(), memory.size()}, options);
  if (!calibrator) return file.failure(calibrator.error());
  ObservedSamples observed;
  observed.samples = kept.count();
  if (question) {
    if (auto step = load_observed(choice.asked, question->state(), *calibrator); !step) return step.failure();
    const auto answers = question->answer(*calibrator, kept.source(), facts->digests);
    work.clear();
    if (!answers && answers.error().status == Status::kSamplesDiffer && !kept.problem().empty())
      return Failure{kept.problem()};
    if (!answers && answers.error().status == Status::kOtherGraph) return asks_another(choice.asked);
    if (!answers) return failure_in(choice.asked, answers.error(), &file.model());
    observed.state = bytes_of(answers->save());
    observed.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return observed;
  }
  int32_t bad = -1;
  const Error error = calibrator->add_all(kept.source(), &bad);
  work.clear();
  if (error.status == Status::kSamplesDiffer && !kept.problem().empty()) return Failure{kept.problem()};
  if (!error.ok())
    return failure_in(bad < 0 ? file.path() : "sample " + kept.name(static_cast<size_t>(bad)), error,
                      &file.model());
  observed.state = FileBytes(calibrator->state_bytes());
  if (const Error saved = calibrator->save({observed.state.data(), observed.state.size()}); !saved.ok())
    return file.failure(saved);
  observed.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return observed;
}

// The value that a share of the others does not exceed.
double quantile(std::vector<double> values, double share) {
  const auto place = static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), values.begin() + place, values.end());
  return values[static_cast<size_t>(place)];
}

template <typename T>
Span<T> span_of(std::vector<T>& values) {
  return {values.data(), values.size()};
}

}  // namespace

Failure load_failure(const std::string& name, const Error& error) {
  constexpr int64_t kVersionAt = 4;  // in the bytes of a state, and of what is asked
  if (error.status == Status::kBadCalibrationState && error.value == 0)
    return Failure{name + ": is no calibration state; give what " + tool_word("observe") + " made", error};
  if (error.status == Status::kOtherGraph)
    return Failure{
        name +
            ": was observed with another model, or with other options that choose what is observed; "
            "observe the samples again with this model and these options",
        error};
  if (error.status == Status::kBadCalibrationState && error.value == kVersionAt)
    return Failure{name + ": was written by another version of the library; observe its samples again",
                   error};
  Failure failure = failure_in(name, error);
  if (error.status == Status::kBadCalibrationState) failure.message += "; observe its samples again";
  return failure;
}

Outcome<ObservedSamples> observe(const LoadedModel& given, const ObserveChoice& choice, Work& work) {
  return stoppable([&] { return observe_stoppable(given, choice, work); });
}

void StateSum::begin(const StateFacts& facts) { sum_.emplace(facts); }

// A state of fewer bins, of one half or without means leaves no more of the sum: whichever comes first.
void StateSum::fold_to(const StateFacts& other) {
  const CalibrationState& state = sum_->state;
  const auto bins = static_cast<uint32_t>(bins_of(sum_->spare));
  if (other.bins >= bins && (other.means > 0 || state.mean_sums.empty()) && other.halves >= state.halves)
    return;
  StateFacts common = other;
  common.bins = std::min(other.bins, bins);
  common.halves = std::min(other.halves, state.halves);
  common.means =
      other.means == 0 ? 0 : static_cast<uint32_t>(state.mean_sums.size) / state.halves * common.halves;
  const FileBytes before = save();
  const uint32_t samples = state.sample_count;
  begin(common);
  if (samples > 0) static_cast<void>(sum_->merge(before.span()));  // whole, and of this graph
}

Outcome<Done> StateSum::merge(const std::string& name, Span<const uint8_t> bytes) {
  const Result<StateFacts> facts = facts_of_state(bytes);
  if (!facts) return load_failure(name, facts.error());
  if (places_.empty()) begin(*facts);
  if (!(facts->graph == sum_->state.graph))
    return Failure{name + ": was observed with another model, or with other options, than " +
                   places_[0].name + "; merge states of one model alone"};
  if (const auto same = place_of_.find(facts->samples); same != place_of_.end())
    return Failure{name + ": holds just the samples of " + places_[same->second].name +
                   ", which would count twice; give each state once"};
  fold_to(*facts);
  latest_.extents.resize(facts->observers);
  if (const Error error = sum_->merge(bytes, span_of(latest_.extents)); !error.ok())
    return load_failure(name, error);
  latest_.name = name;
  latest_.samples = facts->sample_count;
  latest_samples_ = facts->samples;
  return Done{};
}

void StateSum::keep_latest() {
  place_of_.emplace(latest_samples_, places_.size());
  places_.push_back(latest_);
}

Outcome<Done> StateSum::add(const std::string& name, Span<const uint8_t> bytes) {
  if (auto step = merge(name, bytes); !step) return step;
  keep_latest();
  return Done{};
}

std::vector<StateSum::Place> StateSum::places() const {
  std::vector<Place> found;
  for (const Added& place : places_) found.push_back({place.name, place.samples, 0.0, place.moved});
  for (size_t k = 0; k < sum_->state.observers.size && found.size() >= kFewestToCompare; ++k) {
    std::vector<double> extents, distances;
    for (const Added& place : places_) extents.push_back(static_cast<double>(place.extents[k]));
    const double middle = quantile(extents, 0.5);
    for (const double extent : extents)  // zeros are far from nothing
      distances.push_back(middle > 0.0 && extent > 0.0 ? std::abs(std::log2(extent / middle)) : 0.0);
    const double usual = quantile(distances, 0.9);
    for (size_t i = 0; i < found.size(); ++i)
      found[i].octaves = std::max(found[i].octaves, distances[i] - usual);
  }
  return found;
}

Outcome<Done> StateSum::add_file(const std::string& path) {
  {
    const auto bytes = read_file(path, kMaxStateBytes);
    if (!bytes) return bytes.failure();
    if (auto step = merge(path, bytes->span()); !step) return step;
  }
  keep_latest();  // without the file: what stayed behind its bytes would keep the next one's from their place
  return Done{};
}

FileBytes StateSum::save() const {
  const CalibrationState& state = sum_->state;
  FileBytes bytes(state_bytes(state, kAutoRules.probes.samples));
  save_state(state, kAutoRules.probes.samples, {bytes.data(), bytes.size()});
  return bytes;
}

Outcome<FileBytes> StateSum::save_limited(const StatesAgain& again, double share) {
  const CalibrationState& state = sum_->state;
  StateFacts facts;
  facts.graph = state.graph;
  facts.observers = static_cast<uint32_t>(state.observers.size);
  facts.means = static_cast<uint32_t>(state.mean_sums.size);
  facts.inputs = static_cast<uint32_t>(state.inputs.size);
  facts.bins = static_cast<uint32_t>(bins_of(state.observers));
  facts.halves = state.halves;
  StateRoom one(facts);
  PlaceLimits limits(share, state);
  const auto walk = [&](const std::function<void(size_t i)>& visit) -> Outcome<Done> {
    for (size_t i = 0; i < places_.size(); ++i) {
      const auto bytes = again(i);
      if (!bytes) return bytes.failure();
      reset_state(one.state);
      if (const Error error = one.merge(bytes->span()); !error.ok())
        return load_failure(places_[i].name, error);
      visit(i);
    }
    return Done{};
  };
  if (auto step = walk([&](size_t) { limits.see_ends(one.state); }); !step) return step.failure();
  limits.begin(sum_->state);
  if (auto step = walk([&](size_t i) { limits.see(i, one.state); }); !step) return step.failure();
  auto step = walk([&](size_t i) {
    places_[i].moved = limits.limit(i, one.state);
    add_state(sum_->state, one.state);
  });
  if (!step) return step.failure();
  return save();
}

Failure asks_another(const std::string& question) {
  return Failure{
      question +
      ": asks about another calibration; give the model and the options that it was made with, and the same version of "
      "the library"};
}

Outcome<Rounds> read_rounds(const std::string& name, Span<const uint8_t> bytes) {
  const Result<Rounds> read = Rounds::read(bytes);
  if (!read) return load_failure(name, read.error());
  return *read;
}

Outcome<Done> ObservedSum::add(const std::string& name, Span<const uint8_t> bytes) {
  const bool is_state = !Rounds::are(bytes);
  if (is_state ? !first_name_.empty() && states_.states() == 0 : states_.states() > 0)
    return Failure{
        name + ": of " + (first_name_.empty() ? states_.places()[0].name : first_name_) +
        " and this one, one is a state and the other belongs to a later round; give those of one round"};
  if (is_state) return states_.add(name, bytes);
  auto read = read_rounds(name, bytes);
  if (!read) return read.failure();
  if (first_name_.empty()) first_name_ = name;
  if (read->is_question()) {
    if (question_) return Failure{name + ": is a second question beside " + question_name_ + "; answer one"};
    question_ = std::move(*read);
    question_name_ = name;
    return Done{};
  }
  if (answers_ && !answers_->is_like(*read))
    return Failure{name + ": answers another question than " + sets_.begin()->second};
  if (const auto [same, is_new] = sets_.emplace(read->sample_set(), name); !is_new)
    return Failure{name + ": holds just the samples of " + same->second +
                   ", which would count twice; give each place's answers once"};
  if (!answers_) {
    answers_ = std::move(*read);
    return Done{};
  }
  if (const Error error = answers_->add(*read); !error.ok()) return load_failure(name, error);
  return Done{};
}

Outcome<Done> ObservedSum::add_file(const std::string& path) {
  const auto bytes = read_file(path, kMaxStateBytes);
  if (!bytes) return bytes.failure();
  return add(path, bytes->span());
}

Outcome<FileBytes> ObservedSum::save() const {
  if (question_) return Failure{question_name_ + ": is a question; merge its answers"};
  return answers_ ? bytes_of(answers_->save()) : states_.save();
}

Outcome<FileBytes> ObservedSum::save_limited(const StatesAgain& again, double share) {
  if (question_) return save();
  if (parts() < StateSum::kFewestToCompare)
    return Failure{option_word("most-of-one") +
                   ": of fewer than three states nobody knows which one is the other"};
  if (!answers_) return states_.save_limited(again, share);
  std::vector<Rounds> places;
  for (size_t i = 0; i < parts(); ++i) {
    const auto bytes = again(i);
    if (!bytes) return bytes.failure();
    auto read = read_rounds(first_name_, bytes->span());
    if (!read) return read.failure();
    places.push_back(std::move(*read));
  }
  const Result<Rounds> sum = Rounds::limited_sum(places, share);
  if (!sum) return load_failure(first_name_, sum.error());
  return bytes_of(sum->save());
}

Outcome<FileBytes> ObservedSum::to_calibrate_from() const {
  if (!question_ && answers_)
    return Failure{first_name_ + ": holds answers; give the question that they answer, too"};
  if (!question_) return states_.save();
  if (!answers_)
    return Failure{question_name_ + ": its answers are missing; each place makes its own with " +
                   tool_word("observe") + " and " + option_word("question") + ", give them, too"};
  if (!answers_->answers(*question_))
    return Failure{sets_.begin()->second + ": answers another question than " + question_name_};
  Rounds whole = *question_;
  const Error error = whole.take(*answers_);
  if (error.status == Status::kSamplesDiffer)
    return Failure{question_name_ + ": asks " + std::to_string(error.limit) +
                   " samples, and the answers are of " + std::to_string(error.value) +
                   (error.value == error.limit ? " others" : "") +
                   "; every place that was observed has to answer, with the same samples"};
  if (!error.ok()) return load_failure(question_name_, error);
  return bytes_of(whole.save());
}

Outcome<Done> load_observed(const std::string& name, Span<const uint8_t> bytes, Calibrator& calibrator) {
  const Error error = calibrator.load(bytes);
  if (!error.ok()) return load_failure(name, error);
  return Done{};
}

}  // namespace intaglio::tools
