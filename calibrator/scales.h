// Ranges to scales, reals to codes. Everything in double, rounded to float once.
#pragma once

#include "calibrator/ranges.h"

namespace intaglio {

struct QuantParams {
  float scale = 0.0f;
  int32_t zero_point = 0;
};

QuantParams params_of(const Range& range, bool symmetric);

// clamp(rne(x / s)) + z, as the Quantize operator computes it (float division).
int32_t quantize_value(float x, const QuantParams& params);

// One convolution's weights and bias as codes. `channels` along `axis` of weights' shape.
struct QuantizedWeights {
  Span<int8_t> codes;  // in the weights' layout
  Span<float> scales;  // [channels]
  Span<int32_t> bias;  // [channels], scale s_in * scales[c]
};

// Scales so that each channel's largest weight becomes the largest code (127, or 63 for 7 bits), wider where
// the bias would not fit or the int32 accumulator could overflow. `bias` may be empty: zeros.
QuantizedWeights quantize_weights(Span<const float> weights, const Shape& shape, int32_t axis,
                                  Span<const float> bias, float in_scale, int32_t weight_bits, Arena& arena);

// Largest |bias| that keeps channel `c` of these codes within int32: 2^31 - 1 - 255 * sum |w|; negative:
// none.
int64_t bias_room(Span<const int8_t> codes, const Shape& shape, int32_t axis, int32_t channel);

}  // namespace intaglio
