// Ranges to scales, reals to codes. Everything in double, rounded to float once.
#pragma once

#include "calibrator/workspace/arena.h"
#include "intaglio/platform.h"
#include "intaglio/quant_config.h"
#include "intaglio/tensor.h"

namespace intaglio {

// lo <= 0 <= hi, so that zero has a code.
struct Range {
  double lo = 0.0, hi = 0.0;
};

struct QuantParams {
  float scale = 0.0f;
  int32_t zero_point = 0;
  int32_t lo = -128, hi = 127;  // codes
};

// The parameters of a config over a range. Symmetric: zero point 0, or with 8 bits at most the lowest code where the
// tensor is known to hold nothing negative. Exponential: the scale whose largest power reaches the range's ends.
QuantParams params_of(const Range& range, const QuantConfig& config, bool non_negative = false);

// clamp(rne(x / s) + z) to [lo, hi], as the Quantize operator computes it (float division).
int32_t quantize_value(float x, const QuantParams& params);
// The same for many, to int8 codes: lo and hi within [-128, 127].
void quantize_values(Span<const float> values, const QuantParams& params, int8_t* codes);

// One layer's weights and bias as reals.
struct RealWeights {
  Span<const float> weights;
  Shape shape;             // of the weights
  int32_t axis = 0;        // of `shape` along which the output channels stand
  Span<const float> bias;  // [channels]; empty: zeros
  float in_scale = 1.0f;   // of the layer's input
  QuantConfig config;  // linear, symmetric, 8 bits at most; its rounding makes the codes of weights and bias
  bool safe_pairs = false;       // with axis 0: codes side by side add up to -128 to 128
  Span<const float> known = {};  // scales, one for all channels or one each; empty: they are chosen here
  bool wide = false;             // the layer's input has 16 bits: its sums have 64, which nothing overflows
};

// The same as codes. `channels` along `axis` of the weights' shape.
struct QuantizedWeights {
  Span<int8_t> codes;     // in the weights' layout
  Span<float> scales;     // [channels]
  Span<int32_t> bias;     // [channels], scale s_in * scales[c]
  int32_t refused = -1;   // channel
  float in_scale = 0.0f;  // that they were made with
};

// Scales so that each channel's (or, per tensor, all channels') largest weight becomes the largest code,
// wider where the bias would not fit, the int32 accumulator could overflow, or pairs would not be safe.
// Known scales are taken as they are; then `refused` is the first channel that the accumulator proof does not
// hold for. Channels do not depend on each other: the executor's threads share them. Codes are taken from `codes`, which may be `arena`.
QuantizedWeights quantize_weights(const RealWeights& layer, Arena& arena, Arena& codes,
                                  const Executor& executor);
inline QuantizedWeights quantize_weights(const RealWeights& layer, Arena& arena) {
  return quantize_weights(layer, arena, arena, {});
}
// The same into the memory of `result`, which was made from this layer, but perhaps with another in_scale: only what that
// changes is made again. Whether all codes stay as they are.
bool quantize_weights_again(const RealWeights& layer, QuantizedWeights& result,
                            const Executor& executor = {});

// Largest |bias| that keeps channel `c` of these codes within int32: 2^31 - 1 - 255 * sum |w|; negative:
// none. wide: the layer's input has 16 bits, and its sums have 64.
int64_t bias_room(Span<const int8_t> codes, const Shape& shape, int32_t axis, int32_t channel,
                  bool wide = false);

}  // namespace intaglio
