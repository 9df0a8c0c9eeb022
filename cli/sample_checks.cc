#include "cli/sample_checks.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "cli/class_scores.h"

namespace intaglio::cli {
namespace {

constexpr size_t kNamesInWarning = 3;

// Index of the first value that is NaN or infinite, or the values' number.
size_t first_non_finite(Span<const float> values) {
  return static_cast<size_t>(
      std::find_if(values.begin(), values.end(), [](float x) { return !std::isfinite(x); }) - values.begin());
}

bool is_constant(Span<const float> values) {
  return std::all_of(values.begin(), values.end(), [&](float x) { return x == values[0]; });
}

bool is_beyond(Span<const float> values, const ImageInput& recipe) {
  for (size_t i = 0; i < values.size; ++i) {
    const auto c = static_cast<size_t>(
        recipe.channels > 0 ? static_cast<int32_t>(i % static_cast<size_t>(recipe.channels)) : 0);
    const float black = (0.0f - recipe.mean[c]) * recipe.norm[c],
                white = (255.0f - recipe.mean[c]) * recipe.norm[c];
    const float room = 0.001f * std::abs(white - black);
    if (values[i] < std::min(black, white) - room || values[i] > std::max(black, white) + room) return true;
  }
  return false;
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

Outcome<Done> check_samples(CalibrationSamples& samples, ProgressLine& progress) {
  std::map<Digest, std::string> seen;
  Suspects duplicates, constants, beyond;
  for (size_t i = 0; i < samples.count(); ++i) {
    progress.show("looking at samples", i, samples.count());
    const std::string& name = samples.name(i);
    const auto digest = samples.samples().digest(i);
    if (!digest) return digest.failure();
    if (!seen.emplace(*digest, name).second) duplicates.add(name);
    const auto sample = samples.get(i);
    if (!sample) return sample.failure();
    bool constant = true, pixels = true;
    for (size_t j = 0; j < sample->size; ++j) {
      const Span<const float> values = {reinterpret_cast<const float*>((*sample)[j].data),
                                        (*sample)[j].size / sizeof(float)};
      if (const size_t bad = first_non_finite(values); bad < values.size) {
        return Failure{"sample " + name + (sample->size == 1 ? "" : ", input " + std::to_string(j)) +
                       ": element " + std::to_string(bad) +
                       (std::isnan(values[bad]) ? " is NaN" : " is infinite") +
                       "; leave the sample out, or mend the array"};
      }
      const ImageInput* const recipe = samples.samples().recipe(j);
      constant = constant && is_constant(values);
      pixels = pixels && (recipe == nullptr || !is_beyond(values, *recipe));
    }
    if (constant) constants.add(name);
    if (!pixels) beyond.add(name);
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
