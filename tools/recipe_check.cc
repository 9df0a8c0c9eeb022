#include "tools/recipe_check.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

#include "calibrator/observe/input_values.h"
#include "tools/model_contents.h"

namespace intaglio::tools {
namespace {

constexpr size_t kFewest = 8, kMost = 20;
// Behind so many samples recipes that promise nothing are given up: that saves most of the time.
constexpr size_t kFirst = 4;
constexpr double kLessSure = 1.1,
                 kTooSure = 0.05;  // the latter in nats: values are too large for the network
// Found with MobileNetV2, ResNet-20 and ResNet-8; how they do on others is in benchmarks/results/preprocessing.md.
constexpr double kSurer = 1.15, kDeviations = 2.2, kMoreInformation = 0.3, kMoreClasses = 0.2;
constexpr int32_t kFewClasses = 5;
constexpr float kLargeSpan = 30.0f;  // of values for all pixels

// From a pixel's red, green and blue.
struct Usual {
  float mean[3], norm[3];
};
constexpr Usual kUsual[] = {{{0, 0, 0}, {1, 1, 1}},
                            {{0, 0, 0}, {1 / 255.0f, 1 / 255.0f, 1 / 255.0f}},
                            {{127.5f, 127.5f, 127.5f}, {1 / 127.5f, 1 / 127.5f, 1 / 127.5f}},
                            {{123.675f, 116.28f, 103.53f}, {1, 1, 1}},
                            {{123.675f, 116.28f, 103.53f}, {1 / 58.395f, 1 / 57.12f, 1 / 57.375f}}};

ImageInput recipe_of(const Usual& usual, const ImageInput& own, ColorOrder color) {
  ImageInput recipe = own;
  recipe.color = color;
  for (int32_t c = 0; c < recipe.channels; ++c) {
    const int32_t from = color == ColorOrder::kBgr ? 2 - c : c;
    recipe.mean[c] = usual.mean[from];
    recipe.norm[c] = usual.norm[from];
  }
  return recipe;
}

bool are_alike(const ImageInput& a, const ImageInput& b) {
  if (a.color != b.color) return false;
  for (int32_t c = 0; c < a.channels; ++c)
    if (std::abs(a.mean[c] - b.mean[c]) > 4 || std::abs(a.norm[c] / b.norm[c] - 1) > 0.1f) return false;
  return true;
}

bool is_large(const ImageInput& recipe) {
  return *std::max_element(recipe.norm, recipe.norm + recipe.channels) * 255 > kLargeSpan;
}

std::vector<ImageInput> other_recipes(const ImageInput& own) {
  std::vector<ImageInput> others;
  for (const Usual& usual : kUsual)
    for (const ColorOrder color : {ColorOrder::kRgb, ColorOrder::kBgr}) {
      const ImageInput recipe = recipe_of(usual, own, own.channels == 1 ? own.color : color);
      const bool is_new = !are_alike(recipe, own) && (own.channels == 3 || color == ColorOrder::kRgb);
      if (is_new) others.push_back(recipe);
    }
  return others;
}

// Turns the values that `from` makes of pixels into those that `to` makes.
void convert(Span<float> values, const ImageInput& from, const ImageInput& to) {
  const auto channels = static_cast<size_t>(from.channels);
  const bool turns = from.color != to.color;
  for (size_t i = 0; i < values.size; i += channels) {
    float pixel[kMaxImageChannels];
    for (size_t c = 0; c < channels; ++c) pixel[c] = values[i + c] / from.norm[c] + from.mean[c];
    for (size_t c = 0; c < channels; ++c)
      values[i + c] = (pixel[turns ? channels - 1 - c : c] - to.mean[c]) * to.norm[c];
  }
}

// Scores as shares of one.
std::vector<double> shares_of(const std::vector<float>& scores) {
  std::vector<double> shares(scores.begin(), scores.end());
  if (are_probabilities(scores)) return shares;
  const double most = *std::max_element(shares.begin(), shares.end());
  double sum = 0.0;
  for (double& share : shares) sum += share = std::exp(share - most);
  for (double& share : shares) share /= sum;
  return shares;
}

double entropy(const std::vector<double>& shares) {
  double sum = 0.0;
  for (const double share : shares)
    if (share > 0) sum -= share * std::log(share);
  return sum;
}

double mean_of(const std::vector<double>& values) {
  double sum = 0.0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

// The answers to some samples.
class Answers {
 public:
  void add(const std::vector<float>& scores) {
    const std::vector<double> shares = shares_of(scores);
    entropies_.push_back(entropy(shares));
    mean_.resize(shares.size());
    for (size_t c = 0; c < shares.size(); ++c) mean_[c] += shares[c];
    classes_.insert(std::max_element(scores.begin(), scores.end()) - scores.begin());
  }
  size_t classes() const { return classes_.size(); }
  double information() const {
    std::vector<double> mean = mean_;
    for (double& share : mean) share /= static_cast<double>(entropies_.size());
    return entropy(mean) - mean_of(entropies_);
  }
  bool may_be_better_than(const Answers& others) const {
    const double sure = mean_of(others.entropies_);
    return classes() > others.classes() || mean_of(entropies_) < kLessSure * sure ||
           (sure < kTooSure && classes() == others.classes());
  }
  // Surer than these by a factor and by more than chance, a sample each beside the other.
  bool are_surer_than(const Answers& others) const {
    const size_t n = entropies_.size();
    std::vector<double> less(n), squares(n);
    for (size_t i = 0; i < n; ++i) less[i] = others.entropies_[i] - entropies_[i];
    const double mean = mean_of(less);
    for (size_t i = 0; i < n; ++i) squares[i] = (less[i] - mean) * (less[i] - mean);
    const double error = std::sqrt(mean_of(squares) / static_cast<double>(n - 1));
    return mean_of(others.entropies_) > kSurer * mean_of(entropies_) && mean > kDeviations * error;
  }

 private:
  std::vector<double> entropies_, mean_;
  std::set<std::ptrdiff_t> classes_;
};

bool are_better(const Answers& other, const Answers& own, bool is_like_size, const ClassOutput& classes,
                size_t samples) {
  const double more = other.information() - own.information();
  if (is_like_size && more > 0 && other.classes() + 1 >= own.classes() && other.are_surer_than(own))
    return true;
  if (classes.classes() < kFewClasses) return false;
  const double needed = static_cast<double>(own.classes()) + kMoreClasses * static_cast<double>(samples);
  return (more > kMoreInformation && other.classes() >= own.classes()) ||
         (more > 0 && static_cast<double>(other.classes()) >= needed);
}

}  // namespace

Outcome<std::string> find_better_recipe(const LoadedModel& file, CalibrationSamples& samples,
                                        const ClassOutput& classes, const SessionOptions& execution,
                                        Work& work) {
  const Model& model = file.model();
  const ImageInput* const own = samples.samples().recipe(0);
  const TensorInfo input = model.tensor(model.inputs()[0]);
  if (own == nullptr || model.inputs().size != 1 || classes.is_index || samples.count() < kFewest)
    return std::string();
  if (input.dtype != DType::kF32 || input.shape.rank != 4 || input.shape[0] != 1) return std::string();
  std::vector<ImageInput> recipes{*own};
  for (const ImageInput& other : other_recipes(*own)) recipes.push_back(other);
  auto session = LoadedSession::create(file, execution);
  if (!session) return session.failure();
  const TensorView view = (*session)->input(0);
  const Span<float> values{static_cast<float*>(view.data), static_cast<size_t>(input.shape.elements())};
  std::vector<Answers> answers(recipes.size());
  const size_t count = std::min(samples.count(), kMost);
  for (size_t i = 0; i < count; ++i) {
    work.show("trying other preprocessings", i, count);
    const auto sample =
        samples.get(i * samples.count() / count);  // from all of them: those of a class may stand together
    if (!sample) return sample.failure();
    const Span<const float> given{reinterpret_cast<const float*>((*sample)[0].data), values.size};
    if (!are_pixels(*own, given)) return std::string();
    if (i == kFirst) {
      for (size_t r = recipes.size() - 1; r > 0; --r) {
        if (answers[r].may_be_better_than(answers[0])) continue;
        answers.erase(answers.begin() + static_cast<std::ptrdiff_t>(r));
        recipes.erase(recipes.begin() + static_cast<std::ptrdiff_t>(r));
      }
      if (recipes.size() == 1) break;
    }
    for (size_t r = 0; r < recipes.size(); ++r) {
      std::memcpy(values.data, given.data, values.size * sizeof(float));
      convert(values, *own, recipes[r]);
      (*session)->run();
      const std::vector<float> scores = class_scores(**session, classes);
      if (!std::all_of(scores.begin(), scores.end(), [](float x) { return std::isfinite(x); }))
        return std::string();
      answers[r].add(scores);
    }
  }
  work.clear();
  size_t best = 0;
  for (size_t r = 1; r < recipes.size(); ++r) {
    const bool is_like_size = is_large(recipes[r]) == is_large(*own);
    if (are_better(answers[r], answers[0], is_like_size, classes, count) &&
        (best == 0 || answers[r].information() > answers[best].information()))
      best = r;
  }
  if (best == 0) return std::string();
  const size_t now = answers[0].classes(), then = answers[best].classes();
  return "the FP32 model's answers are surer" +
         (now == then
              ? ""
              : ", and of " + std::to_string(then) + " classes instead of " + std::to_string(now) + ",") +
         " with " + recipe_text(recipes[best]) + " (the model's own: " + recipe_text(*own) + ")";
}

}  // namespace intaglio::tools
