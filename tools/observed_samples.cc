#include "tools/observed_samples.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "calibrator/host/system/files.h"
#include "calibrator/host/system/wording.h"
#include "calibrator/ranges/auto_rules.h"
#include "tools/calibration_samples.h"
#include "tools/sample_checks.h"
#include "tools/sequences.h"

namespace intaglio::tools {
namespace {

constexpr uint64_t kMaxStateBytes = uint64_t{1} << 30;

constexpr int64_t kVersionAt = 4;  // in a state's bytes

Failure failure_of_state(const std::string& name, const Error& error) {
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
  if (const auto facts = check_samples(kept, choice.execution.executor, work); !facts) return facts.failure();
  QuantizationLists lists;
  CalibratorOptions options;
  if (auto step = set_quantization(choice.quantization, file, work, lists, options); !step)
    return step.failure();
  steps->set(choice.int8_states, lists, options, work);
  options.isa = choice.execution.isa;
  options.executor = choice.execution.executor;
  options.recover = recovery::kNone;
  options.layer_report = true;  // keeps all that recoveries, reports and range methods need, but for kl
  options.progress = {[](void* context, const char* stage, int32_t done, int32_t total) {
                        return show_or_stop(*static_cast<Work*>(context), stage, done, total);
                      },
                      &work};
  const auto needs = Calibrator::measure(file.model(), options);
  if (!needs) return file.failure(needs.error());
  FileBytes memory(needs->total());
  auto calibrator = Calibrator::create(file.model(), {memory.data(), memory.size()}, options);
  if (!calibrator) return file.failure(calibrator.error());
  int32_t bad = -1;
  const Error error = calibrator->add_all(kept.source(), &bad);
  work.clear();
  if (error.status == Status::kSamplesDiffer && !kept.problem().empty()) return Failure{kept.problem()};
  if (!error.ok())
    return failure_in(bad < 0 ? file.path() : "sample " + kept.name(static_cast<size_t>(bad)), error,
                      &file.model());
  ObservedSamples observed;
  observed.state = FileBytes(calibrator->state_bytes());
  if (const Error saved = calibrator->save({observed.state.data(), observed.state.size()}); !saved.ok())
    return file.failure(saved);
  observed.samples = kept.count();
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

Outcome<ObservedSamples> observe(const LoadedModel& given, const ObserveChoice& choice, Work& work) {
  return stoppable([&] { return observe_stoppable(given, choice, work); });
}

void StateSum::begin(const StateFacts& facts) {
  const auto bins = static_cast<int32_t>(facts.bins);
  memory_.resize(observer_list_bytes(facts.observers, bins) + observer_list_bytes(1, bins));
  Arena arena(span_of(memory_));
  mean_sums_.resize(facts.means);
  inputs_.resize(facts.inputs);
  state_.graph = facts.graph;
  state_.observers = make_observers(arena, facts.observers, bins);
  spare_ = make_observers(arena, 1, bins);
  state_.mean_sums = span_of(mean_sums_);
  state_.inputs = span_of(inputs_);
  reset_state(state_);
}

// A state of fewer bins, or without means, leaves no more of the sum: whichever comes first.
void StateSum::fold_to(const StateFacts& other) {
  const auto bins = static_cast<uint32_t>(bins_of(spare_));
  if (other.bins >= bins && (other.means > 0 || mean_sums_.empty())) return;
  StateFacts common = other;
  common.bins = std::min(other.bins, bins);
  common.means = other.means == 0 ? 0 : static_cast<uint32_t>(mean_sums_.size());
  const FileBytes before = save();
  const uint32_t samples = state_.sample_count;
  begin(common);
  if (samples > 0)
    static_cast<void>(merge_state(state_, before.span(), spare_[0]));  // whole, and of this graph
}

Outcome<Done> StateSum::merge(const std::string& name, Span<const uint8_t> bytes) {
  const Result<StateFacts> facts = facts_of_state(bytes);
  if (!facts) return failure_of_state(name, facts.error());
  if (places_.empty()) begin(*facts);
  if (!(facts->graph == state_.graph))
    return Failure{name + ": was observed with another model, or with other options, than " +
                   places_[0].name + "; merge states of one model alone"};
  if (const auto same = place_of_.find(facts->samples); same != place_of_.end())
    return Failure{name + ": holds just the samples of " + places_[same->second].name +
                   ", which would count twice; give each state once"};
  fold_to(*facts);
  if (const Error error = merge_state(state_, bytes, spare_[0]); !error.ok())
    return failure_of_state(name, error);
  latest_.name = name;
  latest_.samples = facts->sample_count;
  latest_.extents.resize(facts->observers);
  extents_of_state(bytes, *facts, span_of(latest_.extents));
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
  constexpr size_t kFewest = 3;
  std::vector<Place> found;
  for (const Added& place : places_) found.push_back({place.name, place.samples, 0.0});
  for (size_t k = 0; k < state_.observers.size && found.size() >= kFewest; ++k) {
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
  FileBytes bytes(state_bytes(state_));
  save_state(state_, kAutoRules.probes.samples, {bytes.data(), bytes.size()});
  return bytes;
}

Outcome<Done> load_observed(const std::string& name, Span<const uint8_t> bytes, Calibrator& calibrator) {
  const Error error = calibrator.load(bytes);
  if (!error.ok()) return failure_of_state(name, error);
  return Done{};
}

}  // namespace intaglio::tools
