#include "kernels/dwconv/dwconv_s16.h"

namespace intaglio {

void dwconv_s16_scalar(const DwconvS16Args& args);

void dwconv_s16_scalar(const DwconvS16Args& args) {
  const int32_t outputs = args.channels * args.depth_multiplier;
  for (int32_t p = 0; p < args.pixels; ++p) {
    const int16_t* const* const rows = args.rows + static_cast<ptrdiff_t>(p) * args.taps;
    int16_t* const y = args.output + static_cast<ptrdiff_t>(p) * static_cast<ptrdiff_t>(args.output_stride);
    for (int32_t c = 0, o = 0; c < args.channels; ++c)
      for (int32_t j = 0; j < args.depth_multiplier; ++j, ++o) {
        int64_t sum = args.bias[o];
        const int8_t* w = args.weights + o;
        for (int32_t t = 0; t < args.taps; ++t, w += outputs) sum += int32_t{rows[t][c]} * *w;
        y[o] = requantize_wide_s16(sum, args.multiplier[o], args.requant);
      }
  }
}

}  // namespace intaglio
