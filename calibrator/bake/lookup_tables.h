// Baked tables: what a device looks up instead of computing.
#pragma once

#include "calibrator/quantization/scales.h"
#include "calibrator/workspace/float_model.h"
#include "intaglio/model.h"

namespace intaglio {

using UnaryFunction = double (*)(const NodeOptions& options, double x);

// table[code + 128] = quantized function(x), x the dequantized code.
template <typename Function>
void fill_table(Function function, const QuantParams& in, const QuantParams& out, int8_t* table) {
  for (int32_t code = -128; code <= 127; ++code) {
    const float x = in.scale * static_cast<float>(code - in.zero_point);
    const auto y = static_cast<float>(function(static_cast<double>(x)));
    table[code + 128] = static_cast<int8_t>(quantize_value(y, out));
  }
}

// table[code + 128] = quantized function of the dequantized code; 256 entries.
void make_unary_table(UnaryFunction function, const NodeOptions& options, const QuantParams& in,
                      const QuantParams& out, Span<int8_t> table);

// The same of int16 codes: entry i of kTableS16 is the code of the function at in_scale * 128 * (i - 256). Straight lines
// between the entries stand for the function, so each is moved by half of what the middle of its line is off.
void make_unary_table_s16(UnaryFunction function, const NodeOptions& options, float in_scale,
                          const QuantParams& out, Span<int16_t> table);

// One table of 256 a parameter, one after another.
using ChannelFunction = double (*)(const NodeOptions& options, double parameter, double x);
void make_channel_tables(ChannelFunction function, const NodeOptions& options, Span<const float> parameters,
                         const QuantParams& in, const QuantParams& out, Span<int8_t> tables);

// The same of a function with factors, for one channel.
void make_scaled_table(UnaryFunction function, const NodeOptions& options, const FunctionFactors& factors,
                       size_t channel, const QuantParams& in, const QuantParams& out, Span<int8_t> table);

// T[d] = rne(exp(-d * in_scale) * 2^k), d = 0..255; k keeps a sum of `classes` of them at most 2^30. A table of 512 is one of
// int16 codes: the first half in steps of 256 codes, the second rne(exp(-d * in_scale) * 2^30).
void make_softmax_table(float in_scale, int32_t classes, Span<int32_t> table);

// table[c * 256 + pixel] = quantized (pixel - mean[c]) * norm[c].
void make_image_table(const ImageInput& image, const QuantParams& params, Span<int8_t> table);

}  // namespace intaglio
