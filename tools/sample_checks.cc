#include "tools/sample_checks.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "calibrator/host/system/wording.h"
#include "calibrator/observe/input_values.h"
#include "calibrator/observe/observer.h"
#include "intaglio/platform.h"
#include "tools/class_scores.h"
#include "tools/layer_comparison.h"

namespace intaglio::tools {

namespace {

bool is_constant(Span<const float> values) {
  return std::all_of(values.begin(), values.end(), [&](float x) { return x == values[0]; });
}

// How much of the range that pixels have by the recipe these values take up, zero included.
double filled_share(const Extremes& values, const ImageInput& recipe) {
  const Range pixels = range_of_pixels(recipe);
  return (static_cast<double>(values.max) - static_cast<double>(values.min)) / (pixels.hi - pixels.lo);
}

// Samples of one input that are no pixels by its preprocessing, though the model takes pictures there.
class OtherValues {
 public:
  void add(const std::string& sample, const Range& seen) {
    samples_.add(sample);
    range_ = {std::min(range_.lo, seen.lo), std::max(range_.hi, seen.hi)};
  }
  // Whether they speak for a wrong preprocessing. Values between those of pixels do not: a picture was resized in reals.
  bool warn(Work& work, const Model& model, int32_t input) const {
    Range pixels;
    if (samples_.count() == 0 || !range_of_pixels(model, input, {}, pixels)) return false;
    const bool is_unit = are_in_unit_of_pixels(range_, pixels);
    samples_.warn(work, std::string("samples with values ") +
                            (is_unit ? "between those that pixels give" : "that no pixel gives") +
                            " by the model's preprocessing (they hold " + range_text(range_) +
                            ", its pixels " + range_text(pixels) + "); the input's range is taken from them");
    return !is_unit;
  }

 private:
  Suspects samples_;
  Range range_;
};

// Facts of one sample by itself.
struct SampleLook {
  uint64_t content = 0;
  Digest digest;
  bool constant = true, is_long = false;               // an input has more than one number
  std::vector<std::pair<size_t, Range>> other_values;  // inputs for pictures that hold no pixels
  double filled = 0.0;        // the largest share of an input's range by its preprocessing; 1 without one
  std::string path, problem;  // why it is refused, and of which input's samples
};

SampleLook look_at(CalibrationSamples::Sample sample, const Samples& samples, const Model& model,
                   const ObserveF32Kernel& kernel) {
  SampleLook look;
  Sha256 sha;
  for (size_t j = 0; j < sample.size; ++j) {
    look.content = fingerprint(look.content, sample[j].data, sample[j].size);
    const Span<const float> values = {reinterpret_cast<const float*>(sample[j].data),
                                      sample[j].size / sizeof(float)};
    sha.update(sample[j].data, sample[j].size);
    if (model.tensor(model.inputs()[j]).dtype != DType::kF32) {  // token numbers and the like
      look.constant = false;
      look.filled = 1.0;
      continue;
    }
    const Extremes extremes = extremes_of(values, kernel);
    if (!extremes.finite) {
      const auto bad = static_cast<size_t>(first_non_finite(values));
      look.path = samples.path(j);
      look.problem =
          (sample.size == 1 ? "" : ", input " + std::to_string(j)) + ": element " + std::to_string(bad) +
          (std::isnan(values[bad])
               ? " is NaN; leave the sample out, or mend the array"
               : " is infinite; leave the sample out, or write finite numbers: -1e9 masks as -inf does");
      return look;
    }
    const ImageInput* const recipe = samples.recipe(j);
    if (values.size > 1) look.is_long = true;
    look.constant = look.constant && is_constant(values);
    if (recipe != nullptr && !samples.holds_pictures(j) && !are_pixels(*recipe, values))
      look.other_values.push_back(
          {j, {static_cast<double>(extremes.min), static_cast<double>(extremes.max)}});
    look.filled = std::max(look.filled, recipe == nullptr ? 1.0 : filled_share(extremes, *recipe));
  }
  look.digest = sha.finish();
  return look;
}

// Probabilities of which none stands out.
bool is_near_uniform(const std::vector<float>& scores) {
  const double mean = 1.0 / static_cast<double>(scores.size());
  return are_probabilities(scores) && *std::max_element(scores.begin(), scores.end()) < 1.2 * mean;
}

}  // namespace

Outcome<SampleFacts> check_samples(CalibrationSamples& samples, const Executor& executor, Work& work) {
  constexpr size_t kAtOnce = 16;
  constexpr double kNarrow = 1.0 / 16;
  SampleFacts facts;
  double filled = 0.0;
  const ObserveF32Kernel& kernel = observe_f32_best(cpu_isa());
  std::set<uint64_t> seen;
  Suspects duplicates, constants;
  std::vector<OtherValues> others(samples.model().inputs().size);
  for (size_t first = 0; first < samples.count(); first += kAtOnce) {
    work.show("looking at samples", first, samples.count());
    SampleLook looks[kAtOnce];
    const size_t count = std::min(kAtOnce, samples.count() - first);
    const auto visited =
        samples.visit(executor, first, count, [&](size_t i, CalibrationSamples::Sample sample) {
          looks[i - first] = look_at(sample, samples.samples(), samples.model(), kernel);
        });
    if (!visited) return visited.failure();
    for (size_t i = first; i < first + count; ++i) {
      const SampleLook& look = looks[i - first];
      const std::string& name = samples.name(i);
      if (!look.problem.empty())
        return Failure{look.path + (look.path.empty() ? "" : ", ") + "sample " + name + look.problem};
      if (!seen.insert(look.content).second) duplicates.add(name);
      if (look.constant && look.is_long) constants.add(name);
      for (const auto& [input, range] : look.other_values) others[input].add(name, range);
      facts.digests.push_back(look.digest);
      filled = std::max(filled, look.filled);
    }
  }
  work.clear();
  duplicates.warn(work, "samples with the same content as another; each counts");
  constants.warn(work, "samples with one value everywhere");
  bool has_others = false;
  for (size_t j = 0; j < others.size(); ++j) {
    has_others = others[j].warn(work, samples.model(), static_cast<int32_t>(j)) || has_others;
  }
  if (has_others)
    facts.preprocessing_sign = "samples hold values that no pixel gives";
  else if (constants.count() > 0)
    facts.preprocessing_sign = "samples hold one value everywhere";
  else if (samples.count() > 0 && filled < kNarrow)
    facts.preprocessing_sign = "no sample fills more than " + decimal(100 * filled, 1) +
                               " % of the range that pixels have by the model's preprocessing";
  return facts;
}

void SampleClasses::add(size_t i, const std::string& sample, const Session& fp32) {
  found_.resize(std::max(found_.size(), i + 1));
  found_[i] = chosen_class(fp32, output_).value_or(-1);
  if (!output_.is_index && is_near_uniform(class_scores(fp32, output_))) uniform_.add(sample);
}

bool SampleClasses::one_class() const { return is_one_class(found_); }

std::string SampleClasses::preprocessing_sign() const {
  if (all_uniform()) return "the FP32 model gives nearly equal scores for all classes";
  if (one_class()) return "the FP32 model gives one class for every sample";
  return "";
}

void SampleClasses::warn(Work& work) const {
  if (all_uniform())
    uniform_.warn(work, "samples with nearly equal scores for all classes; is the preprocessing right?");
  if (one_class())
    work.warn("the FP32 model gives class " + std::to_string(found_[0]) +
              " for every sample; check the preprocessing, and that the samples are of several classes" +
              (output_.is_presumed
                   ? ". If its output holds no classes, say so: " + tool_word("import", "answers")
                   : ""));
}

void SampleOutputs::add(const Session& fp32) {
  std::vector<float> values;
  for (int32_t i = 0; i < static_cast<int32_t>(fp32.model().outputs().size); ++i) {
    const TensorView output = fp32.output(i);
    const std::vector<float> reals = real_values(output);
    values.insert(values.end(), reals.begin(), reals.end());
  }
  if (samples_++ == 0) first_ = values;
  for (size_t i = 0; i < values.size(); ++i) {
    largest_ = std::max(largest_, std::abs(values[i]));
    spread_ = std::max(spread_, std::abs(values[i] - first_[i]));
  }
}

std::string SampleOutputs::preprocessing_sign() const {
  return are_constant() ? "the FP32 model gives the same outputs for every sample" : "";
}

void SampleOutputs::warn(Work& work) const {
  if (are_constant())
    work.warn(
        "the FP32 model gives the same outputs for every sample, so that no figure says how good the int8 model is; check "
        "the preprocessing, and the network itself");
}

namespace {

double width(const Range& range) { return range.hi - range.lo; }

// How far `seen` may reach beyond the range that an input has, as a share of its width, and how little of it may be filled.
struct Tolerance {
  double beyond, filled;
};
constexpr Tolerance kOfPixels = {1.0 / 64, 0.5 + 1.0 / 64}, kOfCodes = {1.0, 1.0 / 16};

bool is_other_unit(const Range& seen, const Range& own, const Tolerance& tolerance) {
  const double room = tolerance.beyond * width(own);
  return seen.lo < own.lo - room || seen.hi > own.hi + room || width(seen) <= tolerance.filled * width(own);
}

// The range of the reals that an int8 input's codes stand for; empty for any other input.
Range range_of_input_codes(const TensorInfo& input) {
  const Quantization& q = input.quantization;
  if (input.dtype != DType::kS8 || q.scales.size != 1) return {};
  const auto scale = static_cast<double>(q.scales[0]);
  return {scale * (-128 - q.zero_point), scale * (127 - q.zero_point)};
}

// Whether it was calibrated for pixels, and not for the values of other arrays.
bool takes_pixels(const Range& codes, const Range& pixels) {
  return width(codes) == 0 || std::abs(width(codes) - width(pixels)) <= width(pixels) / 64;
}

// One input of a model, and its arrays.
class Arrays {
 public:
  Arrays(const Samples& samples, const Model& model, size_t input)
      : samples_(samples),
        input_(input),
        info_(model.tensor(model.inputs()[input])),
        unit_(info_, samples.recipe(input)) {
    info_.dtype = DType::kF32;
    if (matter()) values_.resize(static_cast<size_t>(info_.shape.elements()));
  }
  bool matter() const { return unit_.takes_reals() && samples_.holds_values(input_); }

  void look_at(size_t i) {
    TensorView view;
    view.info = info_;
    view.data = values_.data();
    if (!samples_.load_input(i, input_, view)) return;
    const InputUnit::Kind kind = unit_.add({values_.data(), values_.size()});
    if (kind == InputUnit::Kind::kNoNumbers) no_numbers_.add(samples_.name(i));
    if (kind == InputUnit::Kind::kReals) reals_.add(samples_.name(i));
  }

  void warn(Work& work) const {
    no_numbers_.warn(work, "samples with NaN or infinite values, of which nothing follows");
    if (unit_.is_other()) reals_.warn(work, "samples with " + unit_.what_is_wrong());
  }

 private:
  const Samples& samples_;
  size_t input_;
  TensorInfo info_;  // as real values
  InputUnit unit_;
  std::vector<float> values_;
  Suspects no_numbers_, reals_;
};

}  // namespace

InputUnit::InputUnit(const TensorInfo& input, const ImageInput* recipe)
    : name_(input.name), own_(range_of_input_codes(input)) {
  if (recipe != nullptr && takes_pixels(own_, range_of_pixels(*recipe))) {
    recipe_ = recipe;
    own_ = range_of_pixels(*recipe);
  }
  width_ = width(own_);
  takes_reals_ = input.dtype == DType::kF32 || width_ > 0;
}

InputUnit::Kind InputUnit::add(Span<const float> values) {
  if (!std::all_of(values.begin(), values.end(), [](float x) { return std::isfinite(x); }))
    return Kind::kNoNumbers;
  if (recipe_ != nullptr && are_pixels(*recipe_, values)) return Kind::kPixels;
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  has_reals_ = true;
  seen_ = {std::min(seen_.lo, static_cast<double>(*least)), std::max(seen_.hi, static_cast<double>(*most))};
  return Kind::kReals;
}

bool are_in_unit_of_pixels(const Range& seen, const Range& pixels) {
  return !is_other_unit(seen, pixels, kOfPixels);
}

bool InputUnit::is_other() const {
  return has_reals_ && width_ > 0 && is_other_unit(seen_, own_, recipe_ != nullptr ? kOfPixels : kOfCodes);
}

std::string InputUnit::what_is_wrong() const {
  const std::string held = "(they hold " + range_text(seen_) + ", ";
  if (recipe_ != nullptr)
    return "values that no pixel gives by the model's preprocessing " + held + "its pixels " +
           range_text(own_) + "); give them in that unit, or pixels as uint8";
  return "values in another unit than those that calibrated the model's input '" + name_ + "' " + held +
         "its codes " + range_text(own_) + "); give them in that unit";
}

void warn_of_units(const Samples& samples, const Model& model, Work& work) {
  work.set_beforehand(true);
  for (size_t j = 0; j < model.inputs().size; ++j) {
    Arrays arrays(samples, model, j);
    for (size_t i = 0; arrays.matter() && i < samples.count(); ++i) {
      work.show("looking at samples", i, samples.count());
      arrays.look_at(i);
    }
    work.clear();
    arrays.warn(work);
  }
  work.set_beforehand(false);
}

}  // namespace intaglio::tools
