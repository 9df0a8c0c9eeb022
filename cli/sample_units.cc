#include "cli/sample_units.h"

#include <algorithm>
#include <cmath>

#include "calibrator/observe/input_values.h"
#include "cli/suspects.h"

namespace intaglio::cli {
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

// Of the reals that an int8 input's codes stand for; of any other input nothing.
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

  void warn() const {
    no_numbers_.warn("samples with NaN or infinite values, of which nothing follows");
    if (unit_.is_other()) reals_.warn("samples with " + unit_.what_is_wrong());
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

void warn_of_units(const Samples& samples, const Model& model, ProgressLine& progress) {
  progress.set_beforehand(true);
  for (size_t j = 0; j < model.inputs().size; ++j) {
    Arrays arrays(samples, model, j);
    for (size_t i = 0; arrays.matter() && i < samples.count(); ++i) {
      progress.show("looking at samples", i, samples.count());
      arrays.look_at(i);
    }
    progress.clear();
    arrays.warn();
  }
  progress.set_beforehand(false);
}

}  // namespace intaglio::cli
