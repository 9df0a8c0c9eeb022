#include "cli/sample_checks.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "cli/class_scores.h"

namespace intaglio::cli {
namespace {

constexpr size_t kNamesInWarning = 3;

// Warnings of one kind, told as one: how many, and the first names.
class Suspects {
 public:
  void add(const std::string& name) {
    if (++count_ > kNamesInWarning) return;
    names_ += (names_.empty() ? "" : ", ") + name;
  }
  size_t count() const { return count_; }
  void warn(const std::string& what) const {
    if (count_ == 0) return;
    print_warning(what + " (" + std::to_string(count_) + "): " + names_ +
                  (count_ > kNamesInWarning ? ", ..." : ""));
  }

 private:
  size_t count_ = 0;
  std::string names_;
};

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

Outcome<std::vector<int32_t>> check_samples(const LoadedModel& file, LoadedSession& session,
                                            const Samples& samples, ProgressLine& progress) {
  const bool classes = gives_classes(file.model());
  std::vector<int32_t> found;
  std::map<Digest, std::string> seen;
  Suspects duplicates, constants, beyond, uniform;
  for (size_t i = 0; i < samples.count(); ++i) {
    progress.show("looking at samples", i, samples.count());
    const std::string& name = samples.name(i);
    const auto digest = samples.digest(i);
    if (!digest) return digest.failure();
    if (!seen.emplace(*digest, name).second) duplicates.add(name);
    const TensorView input = session->input();
    if (auto loaded = samples.load(i, input); !loaded) return loaded.failure();
    const Span<const float> values = input.as<float>();
    if (const size_t bad = first_non_finite(values); bad < values.size) {
      return Failure{"sample " + name + ": element " + std::to_string(bad) +
                     (std::isnan(values[bad]) ? " is NaN" : " is infinite") +
                     "; leave the sample out, or mend the array"};
    }
    if (is_constant(values)) constants.add(name);
    if (samples.recipe() != nullptr && is_beyond(values, *samples.recipe())) beyond.add(name);
    if (!classes) continue;
    session->run();
    const std::vector<float> scores = real_values(session->output());
    const auto best = best_class(scores);
    found.push_back(best.value_or(-1));  // no number: the calibrator will refuse it and name the tensor
    if (is_near_uniform(scores)) uniform.add(name);
  }
  progress.clear();
  duplicates.warn("samples with the same content as another; each counts");
  constants.warn("samples with one value everywhere");
  beyond.warn(
      "samples with values that no pixel gives by the model's preprocessing; is the array made for it?");
  if (2 * uniform.count() > samples.count())
    uniform.warn("samples with nearly equal scores for all classes; is the preprocessing right?");
  const bool one_class = found.size() > 1 && found[0] >= 0 &&
                         std::all_of(found.begin(), found.end(), [&](int32_t c) { return c == found[0]; });
  if (one_class)
    print_warning("the FP32 model gives class " + std::to_string(found[0]) +
                  " for every sample; is the preprocessing right, and are the samples of all kinds?");
  return found;
}

}  // namespace intaglio::cli
