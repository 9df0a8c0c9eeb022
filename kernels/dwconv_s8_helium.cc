// Cortex-M with Helium: eight channels a step, widened to int16 as they are loaded; products of the even and
// of the odd ones, in int32, are summed apart (vmullb, vmullt).
#include "kernels/dwconv_s8.h"
#include "kernels/requant_helium.h"

namespace intaglio {
namespace {

constexpr int32_t kLanes = 8;

// Channels [c, c + 8) of every pixel; where the last ones are fewer, those that are `there`.
template <bool Whole>
inline void eight_channels(const DwconvS8Args& args, int32_t c, const int32_t* bias, const float* multiplier,
                           mve_pred16_t there, const OutputHelium& output) {
  const int32x4x2_t biases = vld2q_s32(bias);  // of the even channels, of the odd ones
  const float32x4x2_t multipliers = vld2q_f32(multiplier);
  const int8_t* const* row = args.rows;
  const int8_t* const* const end = row + static_cast<ptrdiff_t>(args.pixels) * args.taps;
  const int32_t taps = args.taps, channels = args.channels;
  for (int8_t* y = args.output + c; row != end; y += args.output_stride) {
    int32x4_t even = biases.val[0], odd = biases.val[1];
    const int8_t* w = args.weights + c;
    for (int32_t t = 0; t < taps; ++t, ++row, w += channels) {
      const int16x8_t x8 = Whole ? vldrbq_s16(*row + c) : vldrbq_z_s16(*row + c, there);
      const int16x8_t w8 = Whole ? vldrbq_s16(w) : vldrbq_z_s16(w, there);
      even = vaddq_s32(even, vmullbq_int_s16(x8, w8));
      odd = vaddq_s32(odd, vmulltq_int_s16(x8, w8));
    }
    const int16x8_t codes =
        vmovntq_s32(vreinterpretq_s16_s32(requantize_helium(even, multipliers.val[0], output)),
                    requantize_helium(odd, multipliers.val[1], output));
    if (Whole) {
      vstrbq_s16(y, codes);
    } else {
      vstrbq_p_s16(y, codes, there);
    }
  }
}

}  // namespace

void dwconv_s8_helium(const DwconvS8Args& args);

void dwconv_s8_helium(const DwconvS8Args& args) {
  const OutputHelium output = make_output_helium(args.requant);
  int32_t c = 0;
  for (; c + kLanes <= args.channels; c += kLanes)
    eight_channels<true>(args, c, args.folded_bias + c, args.multiplier + c, 0, output);
  if (c == args.channels) return;
  const int32_t left = args.channels - c;
  int32_t bias[kLanes] = {};
  float multiplier[kLanes] = {};
  memcpy(bias, args.folded_bias + c, static_cast<size_t>(left) * sizeof *bias);
  memcpy(multiplier, args.multiplier + c, static_cast<size_t>(left) * sizeof *multiplier);
  eight_channels<false>(args, c, bias, multiplier, vctp16q(static_cast<uint32_t>(left)), output);
}

}  // namespace intaglio
