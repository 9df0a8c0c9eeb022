// Cortex-M with Helium: sixteen channels a step. Products of bytes are int16 (vmullb, vmullt), and two taps'
// are added before they are widened. Of channels that are left eight a step, widened to int16 as they are
// loaded; products of the even and of the odd ones, in int32, are summed apart.
#include "kernels/arithmetic/requant_helium.h"
#include "kernels/dwconv/dwconv_s8.h"

namespace intaglio {
namespace {

constexpr int32_t kLanes = 8;

// Sums of sixteen channels: lane i of `of[j]` is channel j + 4 * i.
struct Sixteen {
  int32x4_t of0, of1, of2, of3;
};

// Adds pairs of taps. What is summed in int16 is the negative: a product is in [-128 * 127, 128 * 128], so
// that two negatives fit and two products may not. Second inputs are loaded twice: there is no ninth
// register.
inline void add_pairs(Sixteen* sums, const int8_t* const** row, const int8_t** weights, int32_t c,
                      int32_t channels, int32_t pairs) {
  const int8_t *x0, *x1;
  __asm__ volatile(
      "wls lr, %[n], 2f\n"
      "1:\n"
      "ldrd %[x0], %[x1], [%[row]], #8\n"
      "vldrb.8 q1, [%[w]]\n"
      "add %[x0], %[c]\n"
      "add %[x1], %[c]\n"
      "vldrb.8 q0, [%[x0]]\n"
      "add %[w], %[channels]\n"
      "vmullb.s8 q2, q0, q1\n"
      "vmullt.s8 q0, q0, q1\n"
      "vldrb.8 q3, [%[w]]\n"
      "vldrb.8 q1, [%[x1]]\n"
      "add %[w], %[channels]\n"
      "vneg.s16 q2, q2\n"
      "vmullb.s8 q1, q1, q3\n"
      "vneg.s16 q0, q0\n"
      "vsub.i16 q2, q2, q1\n"
      "vldrb.8 q1, [%[x1]]\n"
      "vmullt.s8 q1, q1, q3\n"
      "vmovlb.s16 q3, q2\n"
      "vsub.i16 q0, q0, q1\n"
      "vmovlt.s16 q2, q2\n"
      "vsub.i32 %q[s0], %q[s0], q3\n"
      "vmovlb.s16 q1, q0\n"
      "vsub.i32 %q[s2], %q[s2], q2\n"
      "vmovlt.s16 q0, q0\n"
      "vsub.i32 %q[s1], %q[s1], q1\n"
      "vsub.i32 %q[s3], %q[s3], q0\n"
      "le lr, 1b\n"
      "2:\n"
      : [s0] "+w"(sums->of0), [s1] "+w"(sums->of1), [s2] "+w"(sums->of2), [s3] "+w"(sums->of3),
        [row] "+r"(*row), [w] "+r"(*weights), [x0] "=&r"(x0), [x1] "=&r"(x1)
      : [n] "r"(pairs), [c] "r"(c), [channels] "r"(channels)
      : "lr", "q0", "q1", "q2", "q3", "memory");
}

inline int32x4_t rounded(int32x4_t acc, float32x4_t multiplier) {
  return vcvtnq_s32_f32(vmulq_f32(vcvtq_f32_s32(acc), multiplier));
}

// Channels [c, c + 16) of every pixel.
void sixteen_channels(const DwconvS8Args& args, int32_t c, const OutputHelium& output) {
  const int32_t* bias = args.folded_bias + c;
  const float* multiplier = args.multiplier + c;
  const auto zero_point = static_cast<int16_t>(output.zero_point);
  const int16x8_t lo = vdupq_n_s16(static_cast<int16_t>(vgetq_lane_s32(output.lo, 0)));
  const int16x8_t hi = vdupq_n_s16(static_cast<int16_t>(vgetq_lane_s32(output.hi, 0)));
  const int8_t* const* row = args.rows;
  const int32_t taps = args.taps, channels = args.channels;
  int8_t* y = args.output + c;
  for (int32_t pixel = args.pixels, at = c; pixel > 0;
       --pixel, at += args.pixel_step, y += args.output_stride) {
    if (args.pixel_step != 0) row = args.rows;
    __asm__("" : "+r"(bias), "+r"(multiplier));  // eight vectors kept on the stack would be no faster to load
    const int32x4x4_t biases = vld4q_s32(bias);
    Sixteen sums = {biases.val[0], biases.val[1], biases.val[2], biases.val[3]};
    const int8_t* w = args.weights + c;
    add_pairs(&sums, &row, &w, at, channels, taps / 2);
    if (taps % 2 != 0) {
      const int8x16_t x16 = vldrbq_s8(*row++ + at), w16 = vldrbq_s8(w);
      const int16x8_t even = vmullbq_int_s8(x16, w16), odd = vmulltq_int_s8(x16, w16);
      sums.of0 = vaddq_s32(sums.of0, vmovlbq_s16(even));
      sums.of1 = vaddq_s32(sums.of1, vmovlbq_s16(odd));
      sums.of2 = vaddq_s32(sums.of2, vmovltq_s16(even));
      sums.of3 = vaddq_s32(sums.of3, vmovltq_s16(odd));
    }
    const float32x4x4_t multipliers = vld4q_f32(multiplier);
    const int32x4_t q0 = rounded(sums.of0, multipliers.val[0]);
    const int32x4_t q1 = rounded(sums.of1, multipliers.val[1]);
    const int32x4_t q2 = rounded(sums.of2, multipliers.val[2]);
    const int32x4_t q3 = rounded(sums.of3, multipliers.val[3]);
    int16x8_t even = vqmovntq_s32(vqmovnbq_s32(vuninitializedq_s16(), q0), q2);
    int16x8_t odd = vqmovntq_s32(vqmovnbq_s32(vuninitializedq_s16(), q1), q3);
    even = vminq_s16(vmaxq_s16(vqaddq_n_s16(even, zero_point), lo), hi);
    odd = vminq_s16(vmaxq_s16(vqaddq_n_s16(odd, zero_point), lo), hi);
    vstrbq_s8(y, vmovntq_s16(vreinterpretq_s8_s16(even), odd));
  }
}

// Channels [c, c + 8) of every pixel; where the last ones are fewer, those that are `there`.
template <bool Whole>
inline void eight_channels(const DwconvS8Args& args, int32_t c, const int32_t* bias, const float* multiplier,
                           mve_pred16_t there, const OutputHelium& output) {
  const int32x4x2_t biases = vld2q_s32(bias);  // of the even channels, of the odd ones
  const float32x4x2_t multipliers = vld2q_f32(multiplier);
  const int8_t* const* row = args.rows;
  const int32_t taps = args.taps, channels = args.channels;
  int8_t* y = args.output + c;
  for (int32_t pixel = args.pixels, at = c; pixel > 0;
       --pixel, at += args.pixel_step, y += args.output_stride) {
    if (args.pixel_step != 0) row = args.rows;
    int32x4_t even = biases.val[0], odd = biases.val[1];
    const int8_t* w = args.weights + c;
    for (int32_t t = 0; t < taps; ++t, ++row, w += channels) {
      const int16x8_t x8 = Whole ? vldrbq_s16(*row + at) : vldrbq_z_s16(*row + at, there);
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
  for (; c + 16 <= args.channels; c += 16) sixteen_channels(args, c, output);
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
