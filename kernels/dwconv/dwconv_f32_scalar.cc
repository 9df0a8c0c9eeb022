#include "kernels/arithmetic/fma_f32.h"
#include "kernels/dwconv/dwconv_f32.h"

namespace intaglio {

void dwconv_f32_scalar(const DwconvF32Args& args);

void dwconv_f32_scalar(const DwconvF32Args& args) {
  const ptrdiff_t outputs = static_cast<ptrdiff_t>(args.channels) * args.depth_multiplier;
  for (int32_t p = 0; p < args.pixels; ++p) {
    const float* const* const rows = args.rows + static_cast<ptrdiff_t>(p) * args.taps;
    float* const y = args.output + static_cast<size_t>(p) * args.output_stride;
    ptrdiff_t o = 0;
    for (int32_t c = 0; c < args.channels; ++c) {
      for (int32_t j = 0; j < args.depth_multiplier; ++j, ++o) {
        float v = args.bias != nullptr ? args.bias[o] : 0.0f;
        for (int32_t t = 0; t < args.taps; ++t) v = fma_f32(rows[t][c], args.weights[t * outputs + o], v);
        y[o] = finish_f32(v + 0.0f, args.clamp);
      }
    }
  }
}

}  // namespace intaglio
