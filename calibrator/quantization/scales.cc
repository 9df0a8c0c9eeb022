#include "calibrator/quantization/scales.h"

#include "calibrator/quantization/quantizer.h"
#include "runtime/op.h"
#include "runtime/quantization_range.h"
#include "runtime/real_functions.h"

namespace intaglio {
namespace {

float to_scale(double scale) {
  const double low = static_cast<double>(kMinScale), high = static_cast<double>(kMaxScale);
  const double clamped = scale > low ? (scale < high ? scale : high) : low;
  return static_cast<float>(clamped);
}

// The least power of two that is no smaller: 2^ceil(log2 scale).
float up_to_power_of_two(float scale) {
  constexpr uint32_t kFraction = 0x7fffffu;
  uint32_t bits;
  memcpy(&bits, &scale, sizeof bits);
  if ((bits & kFraction) != 0) bits = (bits & ~kFraction) + kFraction + 1;
  memcpy(&scale, &bits, sizeof bits);
  return scale < kMaxScale ? scale : kMaxScale;
}

float scale_of(double scale, const QuantConfig& config) {
  const float rounded = to_scale(scale);
  return config.has(policy::kPowerOfTwo) ? up_to_power_of_two(rounded) : rounded;
}

double power_of_two(int32_t exponent) {  // 0 where that is no normal number
  if (exponent < -1022) return 0.0;
  const uint64_t bits = static_cast<uint64_t>(exponent + 1023) << 52;
  double value;
  memcpy(&value, &bits, sizeof value);
  return value;
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

// Codes of `n` neighbours; gives the sum of their magnitudes.
int64_t quantize_run(const float* weights, int64_t n, double scale, const QuantConfig& config,
                     int8_t* codes) {
  const double largest = config.hi, least = config.lo;
  int64_t sum = 0;
  if (config.rounding != Rounding::kHalfEven) {
    for (int64_t i = 0; i < n; ++i) {
      double code = round_by(config.rounding, static_cast<double>(weights[i]) / scale);
      code = code > largest ? largest : (code < least ? least : code);
      codes[i] = static_cast<int8_t>(code);
      sum += static_cast<int64_t>(magnitude(code));
    }
    return sum;
  }
  // In blocks, so that compilers make vectors of them. The ends are whole: clamped first is the same.
  constexpr double kMagic = 6755399441055744.0;  // as in round_even()
  constexpr int64_t kBlock = 64;
  int32_t block[kBlock];
  for (int64_t first = 0; first < n; first += kBlock) {
    const int64_t count = n - first < kBlock ? n - first : kBlock;
    for (int64_t i = 0; i < count; ++i) {
      const double exact = static_cast<double>(weights[first + i]) / scale;
      const double clamped = exact > largest ? largest : (exact < least ? least : exact);
      block[i] = static_cast<int32_t>((clamped + kMagic) - kMagic);
    }
    int32_t part = 0;
    for (int64_t i = 0; i < count; ++i) {
      codes[first + i] = static_cast<int8_t>(block[i]);
      part += block[i] < 0 ? -block[i] : block[i];
    }
    sum += part;
  }
  return sum;
}

double bias_of(const RealWeights& layer, size_t c) {
  return layer.bias.empty() ? 0.0 : static_cast<double>(layer.bias[c]);
}

double bias_code(const RealWeights& layer, size_t c, float scale) {
  const double step = static_cast<double>(layer.in_scale) * static_cast<double>(scale);
  return round_by(layer.config.rounding, bias_of(layer, c) / step);
}

// Codes of channel `c` for a scale. Returns whether the accumulator proof holds.
bool quantize_channel(const RealWeights& layer, const ChannelWalk& walk, size_t c, float scale,
                      QuantizedWeights& result) {
  result.scales[c] = scale;
  int64_t sum = 0;
  for (int64_t i = 0; i < walk.outer; ++i) {
    const int64_t at = walk.first + i * walk.stride;
    sum += quantize_run(layer.weights.data + at, walk.inner, static_cast<double>(scale), layer.config,
                        result.codes.data + at);
  }
  const double b = bias_code(layer, c, scale);
  if (magnitude(b) > 2147483647.0) return false;
  result.bias[c] = static_cast<int32_t>(b);
  return layer.wide || static_cast<int64_t>(magnitude(b)) + 255 * sum <= INT32_MAX;
}

float peak_of(Span<const float> weights, const ChannelWalk& walk) {
  constexpr int64_t kLanes = 16;
  float peaks[kLanes] = {};
  for (int64_t i = 0; i < walk.outer; ++i) {
    const float* const run = weights.data + walk.first + i * walk.stride;
    for (int64_t first = 0; first < walk.inner; first += kLanes) {
      const int64_t count = walk.inner - first < kLanes ? walk.inner - first : kLanes;
      for (int64_t l = 0; l < count; ++l) {
        const float w = run[first + l], m = w < 0.0f ? -w : w;
        peaks[l] = m > peaks[l] ? m : peaks[l];
      }
    }
  }
  float peak = 0.0f;
  for (const float p : peaks) peak = p > peak ? p : peak;
  return peak;
}

// The largest sum of two neighbours of one sign.
double largest_pair(Span<const float> weights, const ChannelWalk& walk) {
  double largest = 0.0, last = 0.0;
  for_each(walk, [&](size_t i) {
    const auto w = static_cast<double>(weights[i]);
    const double sum = w * last > 0.0 ? magnitude(w + last) : 0.0;
    largest = sum > largest ? sum : largest;
    last = w;
  });
  return largest;
}

// The least scale of channel `c`, by its weights and its bias. A channel without weights keeps its bias: the scale
// grows until the bias fits.
float least_scale(const RealWeights& layer, const ChannelWalk& channel, size_t c) {
  const auto peak = static_cast<double>(peak_of(layer.weights, channel));
  const double for_bias = magnitude(bias_of(layer, c)) / (static_cast<double>(layer.in_scale) * 0x1p30);
  double for_weights = peak / layer.config.hi;
  if (layer.safe_pairs && layer.axis == 0) {
    constexpr double kSafe = 128.0 - 2.0;  // rounding adds less than one to each
    const double for_pairs = largest_pair(layer.weights, channel) / kSafe;
    for_weights = for_pairs > for_weights ? for_pairs : for_weights;
  }
  return scale_of(for_weights > for_bias ? for_weights : for_bias, layer.config);
}

// Whether a channel of this scale has room for its bias beside whatever codes: what least_scale() takes for the bias is at
// most a quarter of the scale, and 2^28 + 255 * 127 * taps is no overflow (below).
bool has_room(const RealWeights& layer, float in_scale, size_t c, float scale) {
  return magnitude(bias_of(layer, c)) <= static_cast<double>(in_scale) * static_cast<double>(scale) * 0x1p28;
}

ChannelWalk channel_of(const RealWeights& layer, size_t c) {
  return walk(layer.shape, layer.axis, static_cast<int32_t>(c));
}

// With the least scale for which the proof holds.
void quantize_by_least_scale(const RealWeights& layer, size_t c, QuantizedWeights& result) {
  const ChannelWalk channel = channel_of(layer, c);
  float scale = least_scale(layer, channel, c);
  while (!quantize_channel(layer, channel, c, scale, result) && scale < kMaxScale) scale *= 2.0f;
  result.scales[c] = scale;
}

void quantize_all(const RealWeights& layer, QuantizedWeights& result, const Executor& executor) {
  const size_t channels = result.scales.size;
  result.refused = -1;
  result.in_scale = layer.in_scale;
  if (!layer.known.empty()) {
    for (size_t c = 0; c < channels; ++c) {
      const float scale = layer.known[layer.known.size == 1 ? 0 : c];
      const bool fits = quantize_channel(layer, channel_of(layer, c), c, scale, result);
      if (!fits && result.refused < 0) result.refused = static_cast<int32_t>(c);
    }
    return;
  }
  constexpr size_t kBlock = 16;  // channels
  parallel_for(executor, static_cast<int32_t>((channels + kBlock - 1) / kBlock), [&](int32_t block) {
    const size_t first = static_cast<size_t>(block) * kBlock;
    for (size_t c = first; c < channels && c < first + kBlock; ++c) quantize_by_least_scale(layer, c, result);
  });
  float widest = 0.0f;
  for (const float scale : result.scales) widest = scale > widest ? scale : widest;
  // A wider scale only makes codes smaller: the proof of each channel still holds.
  for (size_t c = 0; layer.config.has(policy::kPerTensor) && c < channels; ++c)
    quantize_channel(layer, channel_of(layer, c), c, widest, result);
}

}  // namespace

QuantParams params_of(const Range& seen, const QuantConfig& config, bool non_negative) {
  const auto lo = static_cast<double>(config.lo), hi = static_cast<double>(config.hi);
  // Any scale is right for zeros alone. Other runtimes take this one, and the layers that read it keep their biases.
  const Range range = seen.lo == seen.hi ? Range{0.0, 1.0} : seen;
  const double end = -range.lo > range.hi ? -range.lo : range.hi;
  QuantParams params{0.0f, 0, config.lo, config.hi};
  if (config.has(policy::kExponential)) {
    params.scale = to_scale(end * power_of_two(-config.hi));
  } else if (!config.has(policy::kSymmetric)) {
    params.scale = scale_of((range.hi - range.lo) / (hi - lo), config);
    const double zero = lo - round_even(range.lo / static_cast<double>(params.scale));
    params.zero_point = static_cast<int32_t>(zero < lo ? lo : (zero > hi ? hi : zero));
  } else if (non_negative && config.bits <= 8) {
    params.scale = scale_of(range.hi / (hi - lo), config);
    params.zero_point = config.lo;
  } else {
    params.scale = scale_of(end / hi, config);
  }
  return params;
}

int32_t quantize_value(float x, const QuantParams& params) {
  if (x != x) return params.zero_point;
  const float v = x / params.scale;
  const auto lo = static_cast<float>(params.lo - params.zero_point),
             hi = static_cast<float>(params.hi - params.zero_point);
  const float clamped = v > lo ? (v < hi ? v : hi) : lo;
  return static_cast<int32_t>(round_even(static_cast<double>(clamped))) + params.zero_point;
}

void quantize_values(Span<const float> values, const QuantParams& params, int8_t* codes) {
  constexpr float kMagic = 12582912.0f;  // 1.5 * 2^23: the sum has no fraction bits left
  const auto lo = static_cast<float>(params.lo - params.zero_point),
             hi = static_cast<float>(params.hi - params.zero_point);
  const float scale = params.scale;  // codes could lie over `params`, for all that the compiler knows
  const int32_t zero_point = params.zero_point;
  for (size_t i = 0; i < values.size; ++i) {
    const float x = values[i], v = x / scale;
    const float clamped = v > lo ? (v < hi ? v : hi) : lo;
    const float rounded = (clamped + kMagic) - kMagic;
    codes[i] = static_cast<int8_t>(static_cast<int32_t>(x == x ? rounded : 0.0f) + zero_point);
  }
}

QuantizedWeights quantize_weights(const RealWeights& layer, Arena& arena, Arena& codes,
                                  const Executor& executor) {
  const auto channels = static_cast<size_t>(layer.shape[layer.axis]);
  QuantizedWeights result{codes.make<int8_t>(layer.weights.size), arena.make<float>(channels),
                          arena.make<int32_t>(channels)};
  if (arena.exhausted() || codes.exhausted()) return {};
  quantize_all(layer, result, executor);
  return result;
}

bool quantize_weights_again(const RealWeights& layer, QuantizedWeights& result, const Executor& executor) {
  constexpr int64_t kMostTaps = (int64_t{1} << 30) / (255 * 127);
  const bool is_deep = static_cast<int64_t>(layer.weights.size) > kMostTaps * layer.shape[layer.axis];
  if (is_deep || !layer.known.empty() || layer.config.has(policy::kPerTensor)) {
    quantize_all(layer, result, executor);
    return false;
  }
  bool stay = true;
  for (size_t c = 0; c < result.scales.size; ++c) {
    const float scale = result.scales[c];
    if (has_room(layer, result.in_scale, c, scale) && has_room(layer, layer.in_scale, c, scale)) {
      result.bias[c] = static_cast<int32_t>(bias_code(layer, c, scale));
      continue;
    }
    quantize_by_least_scale(layer, c, result);
    stay = stay && peak_of(layer.weights, channel_of(layer, c)) == 0.0f;  // all codes are zero then
  }
  result.in_scale = layer.in_scale;
  return stay;
}

int64_t bias_room(Span<const int8_t> codes, const Shape& shape, int32_t axis, int32_t channel, bool wide) {
  if (wide) return INT32_MAX;
  const ChannelWalk all = walk(shape, axis, channel);
  int64_t sum = 0;
  for (int64_t i = 0; i < all.outer; ++i) {
    const int8_t* const run = codes.data + all.first + i * all.stride;
    for (int64_t j = 0; j < all.inner; ++j) sum += run[j] < 0 ? -run[j] : run[j];
  }
  return INT32_MAX - 255 * sum;
}

}  // namespace intaglio
