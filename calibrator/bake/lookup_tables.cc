#include "calibrator/bake/lookup_tables.h"

#include "runtime/quantization_range.h"
#include "runtime/real_functions.h"

namespace intaglio {

void make_unary_table(UnaryFunction function, const NodeOptions& options, const QuantParams& in,
                      const QuantParams& out, Span<int8_t> table) {
  fill_table([&](double x) { return function(options, x); }, in, out, table.data);
}

void make_unary_table_s16(UnaryFunction function, const NodeOptions& options, float in_scale,
                          const QuantParams& out, Span<int16_t> table) {
  constexpr double kStep = 128.0;
  const auto at = [&](double code) {
    return function(options, static_cast<double>(in_scale) * code) / static_cast<double>(out.scale);
  };
  for (int32_t i = 0; i < kTableS16; ++i) {
    const double code = kStep * (i - 256), own = at(code);
    // A line that starts at `own` is off by this in its middle; the last entry starts none.
    const double off = i + 1 < kTableS16 ? (own + at(code + kStep)) / 2 - at(code + kStep / 2) : 0.0;
    const double moved = own - off / 2;
    const auto lo = static_cast<double>(out.lo), hi = static_cast<double>(out.hi);
    const double clamped = moved > lo ? (moved < hi ? moved : hi) : lo;
    table[static_cast<size_t>(i)] = static_cast<int16_t>(round_even(moved == moved ? clamped : 0.0));
  }
}

void make_channel_tables(ChannelFunction function, const NodeOptions& options, Span<const float> parameters,
                         const QuantParams& in, const QuantParams& out, Span<int8_t> tables) {
  for (size_t c = 0; c < parameters.size; ++c)
    fill_table([&](double x) { return function(options, static_cast<double>(parameters[c]), x); }, in, out,
               tables.data + 256 * c);
}

void make_scaled_table(UnaryFunction function, const NodeOptions& options, const FunctionFactors& factors,
                       size_t channel, const QuantParams& in, const QuantParams& out, Span<int8_t> table) {
  const auto before = static_cast<double>(factors.before(channel)),
             behind = static_cast<double>(factors.behind(channel));
  fill_table([&](double x) { return function(options, x * before) / behind; }, in, out, table.data);
}

namespace {

// 256 entries: rne(exp(-d * step) * 2^k).
void fill_exponentials(double step, int32_t k, int32_t* table) {
  const auto one = static_cast<double>(int64_t{1} << k);
  for (int32_t d = 0; d < 256; ++d) table[d] = static_cast<int32_t>(round_even(exp_real(-d * step) * one));
}

}  // namespace

void make_softmax_table(float in_scale, int32_t classes, Span<int32_t> table) {
  int32_t log2_classes = 1;  // rounded up; of 2 at least
  while ((int64_t{1} << log2_classes) < classes) ++log2_classes;
  const bool wide = table.size == 512;
  const int32_t k = 30 - log2_classes < 23 ? 30 - log2_classes : 23;
  const auto step = static_cast<double>(in_scale);
  fill_exponentials(wide ? 256 * step : step, k, table.data);
  if (wide) fill_exponentials(step, 30, table.data + 256);
}

void make_image_table(const ImageInput& image, const QuantParams& params, Span<int8_t> table) {
  for (int32_t c = 0; c < image.channels; ++c)
    for (int32_t pixel = 0; pixel < 256; ++pixel) {
      const float x = (static_cast<float>(pixel) - image.mean[c]) * image.norm[c];
      table[static_cast<size_t>(c * 256 + pixel)] = static_cast<int8_t>(quantize_value(x, params));
    }
}

}  // namespace intaglio
