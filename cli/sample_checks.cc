#include "cli/sample_checks.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "calibrator/digest.h"
#include "calibrator/observer.h"
#include "cli/class_scores.h"
#include "intaglio/platform.h"

namespace intaglio::cli {
namespace {

constexpr size_t kNamesInWarning = 3;

bool is_constant(Span<const float> values) {
  return std::all_of(values.begin(), values.end(), [&](float x) { return x == values[0]; });
}

// Whether a value lies outside what the pixels of its channel give. In runs of a multiple of all channel
// counts, which compilers make vectors of.
bool is_beyond(Span<const float> values, const ImageInput& recipe) {
  constexpr size_t kRun = 48;
  const auto channels = static_cast<size_t>(std::max(recipe.channels, 1));
  float least[kRun], most[kRun];
  for (size_t i = 0; i < kRun; ++i) {
    const size_t c = i % channels;
    const float black = (0.0f - recipe.mean[c]) * recipe.norm[c],
                white = (255.0f - recipe.mean[c]) * recipe.norm[c];
    const float room = 0.001f * std::abs(white - black);
    least[i] = std::min(black, white) - room;
    most[i] = std::max(black, white) + room;
  }
  uint32_t beyond = 0;
  const auto look = [&](const float* x, size_t count) {
    for (size_t i = 0; i < count; ++i)
      beyond |= static_cast<uint32_t>(x[i] < least[i]) | static_cast<uint32_t>(x[i] > most[i]);
  };
  size_t first = 0;
  for (; first + kRun <= values.size; first += kRun) look(values.data + first, kRun);
  look(values.data + first, values.size - first);
  return beyond != 0;
}

// What one sample shows by itself.
struct SampleLook {
  uint64_t content = 0;
  bool constant = true, pixels = true;
  std::string problem;  // why it is refused
};

SampleLook look_at(CalibrationSamples::Sample sample, const Samples& samples,
                   const ObserveF32Kernel& kernel) {
  SampleLook look;
  for (size_t j = 0; j < sample.size; ++j) {
    look.content = fingerprint(look.content, sample[j].data, sample[j].size);
    const Span<const float> values = {reinterpret_cast<const float*>(sample[j].data),
                                      sample[j].size / sizeof(float)};
    if (!extremes_of(values, kernel).finite) {
      const auto bad = static_cast<size_t>(first_non_finite(values));
      look.problem = (sample.size == 1 ? "" : ", input " + std::to_string(j)) + ": element " +
                     std::to_string(bad) + (std::isnan(values[bad]) ? " is NaN" : " is infinite") +
                     "; leave the sample out, or mend the array";
      return look;
    }
    const ImageInput* const recipe = samples.recipe(j);
    look.constant = look.constant && is_constant(values);
    look.pixels = look.pixels && (recipe == nullptr || !is_beyond(values, *recipe));
  }
  return look;
}

// Probabilities of which none stands out.
bool is_near_uniform(const std::vector<float>& scores) {
  const double sum = std::accumulate(scores.begin(), scores.end(), 0.0);
  const double mean = 1.0 / static_cast<double>(scores.size());
  const bool probabilities =
      std::abs(sum - 1) < 0.01 && std::all_of(scores.begin(), scores.end(), [](float x) { return x >= 0; });
  return probabilities && *std::max_element(scores.begin(), scores.end()) < 1.2 * mean;
}

}  // namespace

void Suspects::add(const std::string& name) {
  if (++count_ > kNamesInWarning) return;
  names_ += (names_.empty() ? "" : ", ") + name;
}

void Suspects::warn(const std::string& what) const {
  if (count_ == 0) return;
  print_warning(what + " (" + std::to_string(count_) + "): " + names_ +
                (count_ > kNamesInWarning ? ", ..." : ""));
}

Outcome<Done> check_samples(CalibrationSamples& samples, const Executor& executor, ProgressLine& progress) {
  constexpr size_t kAtOnce = 16;
  const ObserveF32Kernel& kernel = observe_f32_best(cpu_isa());
  std::set<uint64_t> seen;
  Suspects duplicates, constants, beyond;
  for (size_t first = 0; first < samples.count(); first += kAtOnce) {
    progress.show("looking at samples", first, samples.count());
    SampleLook looks[kAtOnce];
    const size_t count = std::min(kAtOnce, samples.count() - first);
    const auto visited =
        samples.visit(executor, first, count, [&](size_t i, CalibrationSamples::Sample sample) {
          looks[i - first] = look_at(sample, samples.samples(), kernel);
        });
    if (!visited) return visited.failure();
    for (size_t i = first; i < first + count; ++i) {
      const SampleLook& look = looks[i - first];
      const std::string& name = samples.name(i);
      if (!look.problem.empty()) return Failure{"sample " + name + look.problem};
      if (!seen.insert(look.content).second) duplicates.add(name);
      if (look.constant) constants.add(name);
      if (!look.pixels) beyond.add(name);
    }
  }
  progress.clear();
  duplicates.warn("samples with the same content as another; each counts");
  constants.warn("samples with one value everywhere");
  beyond.warn(
      "samples with values that no pixel gives by the model's preprocessing; is the array made for it?");
  return Done{};
}

void SampleClasses::add(const std::string& sample, const TensorView& output) {
  const std::vector<float> scores = real_values(output);
  found_.push_back(best_class(scores).value_or(-1));
  if (is_near_uniform(scores)) uniform_.add(sample);
}

void SampleClasses::warn() const {
  if (2 * uniform_.count() > found_.size())
    uniform_.warn("samples with nearly equal scores for all classes; is the preprocessing right?");
  const bool one_class = found_.size() > 1 && found_[0] >= 0 &&
                         std::all_of(found_.begin(), found_.end(), [&](int32_t c) { return c == found_[0]; });
  if (one_class)
    print_warning("the FP32 model gives class " + std::to_string(found_[0]) +
                  " for every sample; is the preprocessing right, and are the samples of all kinds?");
}

}  // namespace intaglio::cli
