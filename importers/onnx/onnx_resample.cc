#include "importers/onnx/onnx_resample.h"

#include <algorithm>
#include <cmath>

namespace intaglio::importers {
namespace {

constexpr const char* kCoordinates[] = {
    "half_pixel", "half_pixel_symmetric", "pytorch_half_pixel",   "align_corners",
    "asymmetric", "tf_crop_and_resize",   "tf_half_pixel_for_nn",
};

// Where output i lies in the input, in float as onnxruntime has it.
float place_of(int32_t i, const ResampledAxis& axis, const std::string& coordinates) {
  const auto at = static_cast<float>(i), from = static_cast<float>(axis.from),
             to = static_cast<float>(axis.to);
  if (coordinates == "asymmetric") return at / axis.scale;
  if (coordinates == "align_corners") return axis.to == 1 ? 0.0f : at * (from - 1) / (to - 1);
  if (coordinates == "tf_half_pixel_for_nn") return (at + 0.5f) / axis.scale;
  if (coordinates == "tf_crop_and_resize")
    return axis.to > 1 ? axis.begin * (from - 1) + at * (axis.end - axis.begin) * (from - 1) / (to - 1)
                       : 0.5f * (axis.begin + axis.end) * (from - 1);
  if (coordinates == "pytorch_half_pixel" && axis.to == 1) return 0.0f;
  const float place = (at + 0.5f) / axis.scale - 0.5f;
  if (coordinates != "half_pixel_symmetric") return place;
  return from / 2 * (1 - to / (axis.scale * from)) + place;
}

int32_t rounded_coordinate(float place, const std::string& mode) {
  const float value = mode == "floor"               ? std::floor(place)
                      : mode == "ceil"              ? std::ceil(place)
                      : mode == "round_prefer_ceil" ? std::floor(place + 0.5f)
                                                    : std::ceil(place - 0.5f);
  return static_cast<int32_t>(std::clamp(value, -1e9f, 1e9f));
}

// The interpolation's weight at a distance.
float linear_weight(float distance) { return std::max(0.0f, 1.0f - std::fabs(distance)); }

float cubic_weight(float distance, float a) {
  const float x = std::fabs(distance);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0.0f;
}

// Adds to a row what inputs from `first` on give, by their distances in units of the filter.
void add_taps(float* row, const ResampledAxis& axis, const Resampling& how, int32_t first, int32_t count,
              float place, float unit) {
  const auto weight = [&](int32_t i) {
    const float distance = (static_cast<float>(i) - place) * unit;
    return how.mode == "cubic" ? cubic_weight(distance, how.cubic_coefficient) : linear_weight(distance);
  };
  const auto is_inside = [&](int32_t i) { return i >= 0 && i < axis.from; };
  float sum = 0;
  for (int32_t i = first; i < first + count; ++i)
    if (!how.exclude_outside || is_inside(i)) sum += weight(i);
  const float by = how.antialias || how.exclude_outside ? sum : 1.0f;
  for (int32_t i = first; i < first + count; ++i) {
    if (how.exclude_outside && !is_inside(i)) continue;
    row[std::clamp(i, 0, axis.from - 1)] += weight(i) / by;
  }
}

}  // namespace

void check_coordinates(const Resampling& how) {
  for (const char* const known : kCoordinates)
    if (how.coordinates == known) return;
  fail("coordinate_transformation_mode ", quoted(how.coordinates), " is not known");
}

std::vector<int32_t> nearest_indices(const Draft& draft, const ResampledAxis& axis, const Resampling& how) {
  draft.budget->check_numbers(axis.to);
  std::vector<int32_t> indices;
  indices.reserve(static_cast<size_t>(axis.to));
  for (int32_t i = 0; i < axis.to; ++i)
    indices.push_back(
        std::clamp(rounded_coordinate(place_of(i, axis, how.coordinates), how.nearest), 0, axis.from - 1));
  return indices;
}

ResampledWeights resampled_weights(const Draft& draft, const ResampledAxis& axis, const Resampling& how) {
  draft.budget->check_numbers(int64_t{axis.to} * axis.from);
  ResampledWeights result;
  const auto columns = static_cast<size_t>(axis.from);
  result.weights.assign(static_cast<size_t>(axis.to) * columns, 0.0f);
  result.added.assign(static_cast<size_t>(axis.to), 0.0f);
  const float reach = how.mode == "cubic" ? 2.0f : 1.0f;
  for (int32_t i = 0; i < axis.to; ++i) {
    float* const row = result.weights.data() + static_cast<size_t>(i) * columns;
    float place = place_of(i, axis, how.coordinates);
    if (!(std::fabs(place) <= 1e9f)) fail("its scale ", axis.scale, " leads beyond its input");
    const bool is_outside = place < 0 || place > static_cast<float>(axis.from - 1);
    if (how.coordinates == "tf_crop_and_resize" && is_outside) {
      result.added[static_cast<size_t>(i)] = how.outside;
      continue;
    }
    if (how.mode == "nearest") {
      row[std::clamp(rounded_coordinate(place, how.nearest), 0, axis.from - 1)] = 1.0f;
    } else if (how.antialias) {  // a filter as wide as the inputs that one output stands for
      const float wide = std::max(1.0f, 1.0f / axis.scale);
      const auto first = static_cast<int32_t>(std::floor(place + 1.0f - reach * wide)),
                 last = static_cast<int32_t>(std::floor(place + 1.0f + reach * wide));
      add_taps(row, axis, how, first, std::max(last - first, 1), place, 1.0f / wide);
    } else {
      if (how.mode == "linear") place = std::clamp(place, 0.0f, static_cast<float>(axis.from - 1));
      const int32_t taps = how.mode == "cubic" ? 4 : 2;
      add_taps(row, axis, how, static_cast<int32_t>(std::floor(place)) - taps / 2 + 1, taps, place, 1.0f);
    }
  }
  return result;
}

}  // namespace intaglio::importers
