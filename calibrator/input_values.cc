#include "calibrator/input_values.h"

#include <initializer_list>

#include "runtime/real_functions.h"

namespace intaglio {
namespace {

constexpr double kCodes = 255.0;  // steps from the lowest to the highest

// Where `x` stands or would stand.
uint32_t place_of(const InputValues& input, float x) {
  uint32_t first = 0, end = input.count;
  while (first < end) {
    const uint32_t middle = (first + end) / 2;
    if (input.values[middle] < x)
      first = middle + 1;
    else
      end = middle;
  }
  return first;
}

}  // namespace

void add_values(InputValues& input, Span<const float> values) {
  float last = 0.0f;
  bool has_last = false;
  for (size_t i = 0; i < values.size && input.count <= kMostInputValues; ++i) {
    const float x = values[i] + 0.0f;  // one zero
    if (has_last && x == last) continue;
    last = x;
    has_last = true;
    const uint32_t at = place_of(input, x);
    if (at < input.count && input.values[at] == x) continue;
    if (input.count < kMostInputValues) {
      memmove(input.values + at + 1, input.values + at, (input.count - at) * sizeof(float));
      input.values[at] = x;
    }
    ++input.count;
  }
  if (input.count > kMostInputValues) memset(input.values, 0, sizeof input.values);
}

void merge(InputValues& input, const InputValues& other) {
  if (other.count <= kMostInputValues) return add_values(input, {other.values, other.count});
  input = other;
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

Range range_of_pixels(const ImageInput& image) {
  Range range;
  for (int32_t c = 0; c < image.channels; ++c)
    for (const float pixel : {0.0f, 255.0f}) {
      const auto x = static_cast<double>((pixel - image.mean[c]) * image.norm[c]);
      range.lo = x < range.lo ? x : range.lo;
      range.hi = x > range.hi ? x : range.hi;
    }
  return range;
}

bool range_of_codes(double step, const Range& seen, Range& range) {
  const double below = round_even(-seen.lo / step), above = round_even(seen.hi / step), used = below + above;
  if (!(used > 0.0 && used <= kCodes)) return false;
  const double lo = below + round_even((kCodes - used) * below / used);
  range = {-lo * step, (kCodes - lo) * step};
  return true;
}

bool is_picture(const Model& model, int32_t input, const Extremes& seen) {
  for (int32_t i = 0; i < model.image_count(); ++i) {
    const ImageInput image = model.image(i);
    if (image.input != input) continue;
    const Range pixels = range_of_pixels(image);
    return static_cast<double>(seen.min) >= pixels.lo && static_cast<double>(seen.max) <= pixels.hi;
  }
  return false;
}

}  // namespace intaglio
