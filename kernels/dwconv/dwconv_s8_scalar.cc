#include "kernels/arithmetic/requant_soft.h"
#include "kernels/dwconv/dwconv_s8.h"

namespace intaglio {

void dwconv_s8_scalar(const DwconvS8Args& args);

void dwconv_s8_scalar(const DwconvS8Args& args) {
  const OutputSoft output = make_output_soft(args.requant);
  const ptrdiff_t outputs = static_cast<ptrdiff_t>(args.channels) * args.depth_multiplier;
  for (int32_t p = 0; p < args.pixels; ++p) {
    const bool even = args.pixel_step != 0;
    const int8_t* const* const rows = args.rows + (even ? 0 : static_cast<ptrdiff_t>(p) * args.taps);
    const ptrdiff_t behind = static_cast<ptrdiff_t>(p) * args.pixel_step;
    int8_t* const y = args.output + static_cast<size_t>(p) * args.output_stride;
    ptrdiff_t o = 0;
    for (int32_t c = 0; c < args.channels; ++c) {
      for (int32_t j = 0; j < args.depth_multiplier; ++j, ++o) {
        // Unsigned: sums in between may wrap.
        auto acc = static_cast<uint32_t>(args.folded_bias[o]);
        for (int32_t t = 0; t < args.taps; ++t)
          acc += static_cast<uint32_t>(int32_t{rows[t][behind + c]} * args.weights[t * outputs + o]);
        y[o] = requantize_soft(static_cast<int32_t>(acc), args.multiplier[o], args.requant, output);
      }
    }
  }
}

}  // namespace intaglio
