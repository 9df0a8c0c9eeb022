#include "kernels/arithmetic/requant_neon.h"
#include "kernels/dwconv/dwconv_s16.h"

namespace intaglio {
namespace {

// The codes of eight channels.
void run_eight(const DwconvS16Args& args, const int16_t* const* rows, int32_t c, int16_t* y) {
  int32x4_t low = vld1q_s32(args.bias + c), high = vld1q_s32(args.bias + c + 4);
  const int8_t* w = args.weights + c;
  for (int32_t t = 0; t < args.taps; ++t, w += args.channels) {
    const int16x8_t x = vld1q_s16(rows[t] + c), wide = vmovl_s8(vld1_s8(w));
    low = vmlal_s16(low, vget_low_s16(x), vget_low_s16(wide));
    high = vmlal_s16(high, vget_high_s16(x), vget_high_s16(wide));
  }
  vst1_s16(y + c, neon_requantize_s16(low, vld1q_f32(args.multiplier + c), args.requant));
  vst1_s16(y + c + 4, neon_requantize_s16(high, vld1q_f32(args.multiplier + c + 4), args.requant));
}

}  // namespace

void dwconv_s16_neon(const DwconvS16Args& args);

void dwconv_s16_neon(const DwconvS16Args& args) {
  for (int32_t p = 0; p < args.pixels; ++p) {
    const int16_t* const* const rows = args.rows + static_cast<ptrdiff_t>(p) * args.taps;
    int16_t* const y = args.output + static_cast<ptrdiff_t>(p) * static_cast<ptrdiff_t>(args.output_stride);
    // The last run may overlap the one before.
    for (int32_t c = 0; c < args.channels; c += 8)
      run_eight(args, rows, c + 8 <= args.channels ? c : args.channels - 8, y);
  }
}

}  // namespace intaglio
