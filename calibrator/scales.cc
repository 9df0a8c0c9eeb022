#include "calibrator/scales.h"

#include "runtime/quantization_range.h"
#include "runtime/real_functions.h"

namespace intaglio {
namespace {

float to_scale(double scale) {
  const double low = static_cast<double>(kMinScale), high = static_cast<double>(kMaxScale);
  const double clamped = scale > low ? (scale < high ? scale : high) : low;
  return static_cast<float>(clamped);
}

int32_t clamp_code(double code) {
  return static_cast<int32_t>(code < -128.0 ? -128.0 : (code > 127.0 ? 127.0 : code));
}

// Elements of channel `c`: outer blocks of `inner` neighbours, `stride` apart.
struct ChannelWalk {
  int64_t outer, inner, stride, first;
};

ChannelWalk walk(const Shape& shape, int32_t axis, int32_t channel) {
  const int64_t inner = shape.elements(axis + 1, shape.rank);
  return {shape.elements(0, axis), inner, inner * shape[axis], inner * channel};
}

template <typename Visit>
void for_each(const ChannelWalk& walk, Visit&& visit) {
  for (int64_t i = 0; i < walk.outer; ++i)
    for (int64_t j = 0; j < walk.inner; ++j) visit(static_cast<size_t>(walk.first + i * walk.stride + j));
}

double magnitude(double x) { return x < 0 ? -x : x; }

// Codes of one channel for a scale. Returns whether the accumulator proof holds.
bool quantize_channel(Span<const float> weights, const ChannelWalk& walk, double bias, float in_scale,
                      float scale, double largest, Span<int8_t> codes, int32_t* bias_code) {
  int64_t sum = 0;
  for_each(walk, [&](size_t i) {
    double code = round_even(static_cast<double>(weights[i]) / static_cast<double>(scale));
    code = code > largest ? largest : (code < -largest ? -largest : code);
    codes[i] = static_cast<int8_t>(code);
    sum += code < 0 ? static_cast<int64_t>(-code) : static_cast<int64_t>(code);
  });
  const double b = round_even(bias / (static_cast<double>(in_scale) * static_cast<double>(scale)));
  if (magnitude(b) > 2147483647.0) return false;
  *bias_code = static_cast<int32_t>(b);
  return static_cast<int64_t>(magnitude(b)) + 255 * sum <= INT32_MAX;
}

}  // namespace

QuantParams params_of(const Range& range, bool symmetric) {
  if (symmetric && range.lo < 0.0) {
    const double end = -range.lo > range.hi ? -range.lo : range.hi;
    return {to_scale(end / 127.0), 0};
  }
  const float scale = to_scale((range.hi - range.lo) / 255.0);
  return {scale, clamp_code(-128.0 - round_even(range.lo / static_cast<double>(scale)))};
}

int32_t quantize_value(float x, const QuantParams& params) {
  if (x != x) return params.zero_point;
  const float v = x / params.scale;
  const auto lo = static_cast<float>(-128 - params.zero_point),
             hi = static_cast<float>(127 - params.zero_point);
  const float clamped = v > lo ? (v < hi ? v : hi) : lo;
  return static_cast<int32_t>(round_even(static_cast<double>(clamped))) + params.zero_point;
}

QuantizedWeights quantize_weights(Span<const float> weights, const Shape& shape, int32_t axis,
                                  Span<const float> bias, float in_scale, int32_t weight_bits, Arena& arena) {
  const auto channels = static_cast<size_t>(shape[axis]);
  QuantizedWeights result{arena.make<int8_t>(weights.size), arena.make<float>(channels),
                          arena.make<int32_t>(channels)};
  if (arena.exhausted()) return {};
  const double largest = weight_bits == 7 ? 63.0 : 127.0;
  for (size_t c = 0; c < channels; ++c) {
    const ChannelWalk channel = walk(shape, axis, static_cast<int32_t>(c));
    double peak = 0.0;
    for_each(channel, [&](size_t i) {
      const double m = magnitude(static_cast<double>(weights[i]));
      peak = m > peak ? m : peak;
    });
    const double b = bias.empty() ? 0.0 : static_cast<double>(bias[c]);
    // A channel without weights keeps its bias: the scale grows until the bias fits.
    const double for_bias = magnitude(b) / (static_cast<double>(in_scale) * 0x1p30);
    float scale = to_scale(peak / largest > for_bias ? peak / largest : for_bias);
    while (!quantize_channel(weights, channel, b, in_scale, scale, largest, result.codes, &result.bias[c]) &&
           scale < kMaxScale)
      scale *= 2.0f;
    result.scales[c] = scale;
  }
  return result;
}

int64_t bias_room(Span<const int8_t> codes, const Shape& shape, int32_t axis, int32_t channel) {
  int64_t sum = 0;
  for_each(walk(shape, axis, channel), [&](size_t i) { sum += codes[i] < 0 ? -codes[i] : codes[i]; });
  return INT32_MAX - 255 * sum;
}

}  // namespace intaglio
