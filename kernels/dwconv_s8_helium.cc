// Cortex-M with Helium: eight channels a step, widened to int16 as they are loaded; products of the even and
// of the odd ones, in int32, are summed apart (vmullb, vmullt).
#include "kernels/dwconv_s8.h"
#include "kernels/requant_helium.h"

namespace intaglio {
namespace {

constexpr int32_t kLanes = 8;

}  // namespace

void dwconv_s8_helium(const DwconvS8Args& args);

void dwconv_s8_helium(const DwconvS8Args& args) {
  const OutputHelium output = make_output_helium(args.requant);
  const int8_t* const* const end = args.rows + static_cast<ptrdiff_t>(args.pixels) * args.taps;
  const int32_t channels = args.channels;
  for (int32_t c = 0; c < channels; c += kLanes) {
    const int32_t left = channels - c;
    const mve_pred16_t there = vctp16q(static_cast<uint32_t>(left));
    const int32_t* bias = args.folded_bias + c;
    const float* multiplier = args.multiplier + c;
    int32_t some_bias[kLanes] = {};
    float some_multiplier[kLanes] = {};
    if (left < kLanes) {
      memcpy(some_bias, bias, static_cast<size_t>(left) * sizeof *bias);
      memcpy(some_multiplier, multiplier, static_cast<size_t>(left) * sizeof *multiplier);
      bias = some_bias;
      multiplier = some_multiplier;
    }
    const int32x4x2_t biases = vld2q_s32(bias);  // of the even channels, of the odd ones
    const float32x4x2_t multipliers = vld2q_f32(multiplier);
    int8_t* y = args.output + c;
    for (const int8_t* const* row = args.rows; row != end; y += args.output_stride) {
      int32x4_t even = biases.val[0], odd = biases.val[1];
      const int8_t* w = args.weights + c;
      for (int32_t t = 0; t < args.taps; ++t, ++row, w += channels) {
        const int16x8_t x8 = vldrbq_z_s16(*row + c, there), w8 = vldrbq_z_s16(w, there);
        even = vaddq_s32(even, vmullbq_int_s16(x8, w8));
        odd = vaddq_s32(odd, vmulltq_int_s16(x8, w8));
      }
      const int16x8_t codes =
          vmovnbq_s32(vdupq_n_s16(0), requantize_helium(even, multipliers.val[0], output));
      vstrbq_p_s16(y, vmovntq_s32(codes, requantize_helium(odd, multipliers.val[1], output)), there);
    }
  }
}

}  // namespace intaglio
