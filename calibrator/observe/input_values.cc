#include "calibrator/observe/input_values.h"

#include <initializer_list>

#include "runtime/real_functions.h"

namespace intaglio {
namespace {

constexpr double kCodes = 255.0;  // steps from the lowest to the highest

// Where `x` stands or would stand.
uint32_t place_of(const InputValues& seen, float x) {
  uint32_t first = 0, end = seen.count;
  while (first < end) {
    const uint32_t middle = (first + end) / 2;
    if (seen.values[middle] < x)
      first = middle + 1;
    else
      end = middle;
  }
  return first;
}

bool find_recipe(const Model& model, int32_t input, ImageInput& recipe) {
  for (int32_t i = 0; i < model.image_count(); ++i) {
    recipe = model.image(i);
    if (recipe.input == input) return true;
  }
  return false;
}

}  // namespace

bool are_pixels(const ImageInput& recipe, Span<const float> values) {
  constexpr float kOff = 1.0f / 64;
  const auto channels = static_cast<size_t>(recipe.channels);
  size_t c = 0;
  for (size_t i = 0; i < values.size; ++i) {
    const float pixel = values[i] / recipe.norm[c] + recipe.mean[c];
    if (!(pixel > -kOff && pixel < 255.0f + kOff)) return false;
    float off = pixel - static_cast<float>(static_cast<int32_t>(pixel));
    if (off > 0.5f) off -= 1.0f;
    if (off > kOff || off < -kOff) return false;
    if (++c == channels) c = 0;
  }
  return true;
}

void add_sample(InputValues& seen, const Model& model, int32_t input, Span<const float> values) {
  ImageInput recipe;
  if (find_recipe(model, input, recipe)) {
    if (are_pixels(recipe, values)) return;
    seen.off_grid = 1;
  }
  add_values(seen, values);
}

Range range_of_pixels(const ImageInput& recipe) {
  Range range;
  for (int32_t c = 0; c < recipe.channels; ++c)
    for (const float pixel : {0.0f, 255.0f}) {
      const auto x = static_cast<double>((pixel - recipe.mean[c]) * recipe.norm[c]);
      range.lo = x < range.lo ? x : range.lo;
      range.hi = x > range.hi ? x : range.hi;
    }
  return range;
}

bool range_of_pixels(const Model& model, int32_t input, const InputValues& seen, Range& range) {
  ImageInput recipe;
  if (seen.off_grid != 0 || !find_recipe(model, input, recipe)) return false;
  range = range_of_pixels(recipe);
  return true;
}

void add_values(InputValues& seen, Span<const float> values) {
  float last = 0.0f;
  bool has_last = false;
  for (size_t i = 0; i < values.size && seen.count <= kMostInputValues; ++i) {
    const float x = values[i] + 0.0f;  // one zero
    if (has_last && x == last) continue;
    last = x;
    has_last = true;
    const uint32_t at = place_of(seen, x);
    if (at < seen.count && seen.values[at] == x) continue;
    if (seen.count < kMostInputValues) {
      memmove(seen.values + at + 1, seen.values + at, (seen.count - at) * sizeof(float));
      seen.values[at] = x;
    }
    ++seen.count;
  }
  if (seen.count > kMostInputValues) memset(seen.values, 0, sizeof seen.values);
}

void merge(InputValues& seen, const InputValues& other) {
  seen.off_grid |= other.off_grid;
  if (other.count <= kMostInputValues) return add_values(seen, {other.values, other.count});
  seen.count = other.count;
  memset(seen.values, 0, sizeof seen.values);
}

double code_step(const InputValues& input) {
  constexpr uint32_t kLeast = 16;  // so many values of another origin do not fit codes by chance
  constexpr double kOff = 1.0 / 64;
  if (input.count < kLeast || input.count > kMostInputValues) return 0.0;
  const auto value = [&input](uint32_t i) { return static_cast<double>(input.values[i]); };
  const double span = value(input.count - 1) - value(0);
  double least = span;
  for (uint32_t i = 1; i < input.count; ++i) {
    const double distance = value(i) - value(i - 1);
    least = distance < least ? distance : least;
  }
  if (!(span <= kCodes * least * (1.0 + kOff))) return 0.0;
  const double step = span / round_even(span / least);
  for (uint32_t i = 0; i < input.count; ++i) {
    const double codes = value(i) / step;
    if (!(codes > -2 * kCodes && codes < 2 * kCodes)) return 0.0;
    const double off = codes - round_even(codes);
    if (off > kOff || off < -kOff) return 0.0;
  }
  return step;
}

bool range_of_codes(double step, const Range& seen, Range& range) {
  const double below = round_even(-seen.lo / step), above = round_even(seen.hi / step), used = below + above;
  if (!(used > 0.0 && used <= kCodes)) return false;
  const double lo = below + round_even((kCodes - used) * below / used);
  range = {-lo * step, (kCodes - lo) * step};
  return true;
}

}  // namespace intaglio
