#include "kernels/arithmetic/output_f32.h"
#include "kernels/dwconv/dwconv_s8_f32.h"

namespace intaglio {

void dwconv_s8_f32_scalar(const DwconvS8F32Args& args);

void dwconv_s8_f32_scalar(const DwconvS8F32Args& args) {
  const ptrdiff_t outputs = static_cast<ptrdiff_t>(args.channels) * args.depth_multiplier;
  const int8_t* const* rows = args.rows;
  float* y = args.y;
  for (int32_t p = 0; p < args.pixels; ++p, rows += args.taps, y += args.y_stride) {
    ptrdiff_t o = 0;
    for (int32_t c = 0; c < args.channels; ++c) {
      for (int32_t j = 0; j < args.depth_multiplier; ++j, ++o) {
        // Unsigned: sums in between may wrap.
        auto acc = static_cast<uint32_t>(args.folded_bias[o]);
        for (int32_t t = 0; t < args.taps; ++t)
          acc += static_cast<uint32_t>(int32_t{rows[t][c]} * args.weights[t * outputs + o]);
        y[o] = finish_f32(static_cast<float>(static_cast<int32_t>(acc)) * args.multiplier[o], args.clamp);
      }
    }
  }
}

}  // namespace intaglio
