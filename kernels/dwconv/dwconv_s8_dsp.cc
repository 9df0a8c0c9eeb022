// Cortex-M with the DSP extension: four channels a step, each a halfword of a widened word (smlabb, smlatt).
#include "kernels/arithmetic/requant_dsp.h"
#include "kernels/dwconv/dwconv_s8.h"

namespace intaglio {
namespace {

constexpr int32_t kQuad = 4;

inline int32_t lower(uint32_t a, uint32_t b, int32_t acc) {
  return __smlabb(static_cast<int32_t>(a), static_cast<int32_t>(b), acc);
}
inline int32_t upper(uint32_t a, uint32_t b, int32_t acc) {
  return __smlatt(static_cast<int32_t>(a), static_cast<int32_t>(b), acc);
}

}  // namespace

void dwconv_s8_dsp(const DwconvS8Args& args);

void dwconv_s8_dsp(const DwconvS8Args& args) {
  const OutputDsp output = make_output_dsp(args.requant);
  const int32_t channels = args.channels, whole = channels - channels % kQuad;
  const int8_t* const* rows = args.rows;
  int8_t* y = args.output;
  const int32_t tables = args.pixel_step != 0 ? 0 : args.taps;
  int32_t behind = 0;
  for (int32_t p = 0; p < args.pixels;
       ++p, rows += tables, behind += args.pixel_step, y += args.output_stride) {
    const int8_t* const* const end = rows + args.taps;
    int32_t c = 0;
    for (; c < whole; c += kQuad) {
      const int32_t* const bias = args.folded_bias + c;
      int32_t acc0 = bias[0], acc1 = bias[1], acc2 = bias[2], acc3 = bias[3];
      const int8_t* w = args.weights + c;
      for (const int8_t* const* row = rows; row != end; ++row, w += channels) {
        const uint32_t x4 = load_word_dsp(*row + behind + c), w4 = load_word_dsp(w);
        const uint32_t x02 = even_dsp(x4), x13 = odd_dsp(x4);
        const uint32_t w02 = even_dsp(w4), w13 = odd_dsp(w4);
        acc0 = lower(x02, w02, acc0);
        acc1 = lower(x13, w13, acc1);
        acc2 = upper(x02, w02, acc2);
        acc3 = upper(x13, w13, acc3);
      }
      const int32_t acc[kQuad] = {acc0, acc1, acc2, acc3};
#pragma GCC unroll 1
      for (int32_t j = 0; j < kQuad; ++j)
        y[c + j] = static_cast<int8_t>(requantize_dsp(acc[j], args.multiplier[c + j], output));
    }
    for (; c < channels; ++c) {
      int32_t acc = args.folded_bias[c];
      const int8_t* w = args.weights + c;
      for (const int8_t* const* row = rows; row != end; ++row, w += channels)
        acc = __smlabb((*row)[behind + c], *w, acc);
      y[c] = static_cast<int8_t>(requantize_dsp(acc, args.multiplier[c], output));
    }
  }
}

}  // namespace intaglio
