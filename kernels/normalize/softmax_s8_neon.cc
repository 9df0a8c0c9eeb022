// Sixteen codes at a time; the table's entries, which no vector instruction gathers, one by one.
#include "kernels/arithmetic/requant_neon.h"
#include "kernels/normalize/softmax_s8.h"

namespace intaglio {

namespace {

constexpr int32_t kLanes = 16;

struct Entries {
  int32x4_t v[4];
};

// The sum of table[largest - x[i]]. Differences up to 255 are unsigned: gcc's signed vectors may not wrap.
inline Entries entries_of(int8x16_t x, int8x16_t largest, const int32_t* table) {
  uint8_t at[kLanes];
  vst1q_u8(at, vsubq_u8(vreinterpretq_u8_s8(largest), vreinterpretq_u8_s8(x)));
  int32_t found[kLanes];
#pragma GCC unroll 16
  for (int32_t i = 0; i < kLanes; ++i) found[i] = table[at[i]];
  return {{vld1q_s32(found), vld1q_s32(found + 4), vld1q_s32(found + 8), vld1q_s32(found + 12)}};
}

}  // namespace

void softmax_s8_neon(const int8_t* x, const int32_t* table, float reciprocal_scale, const OutputS8& output,
                     int8_t* y, int32_t n) {
  if (n < kLanes) return softmax_s8_scalar(x, table, reciprocal_scale, output, y, n);
  const int32_t whole = n / kLanes * kLanes;
  int8x16_t most = vld1q_s8(x + n - kLanes);  // meeting some of them again changes nothing
  for (int32_t i = 0; i < whole; i += kLanes) most = vmaxq_s8(most, vld1q_s8(x + i));
  int8_t lanes[kLanes];
  vst1q_s8(lanes, most);
  int8_t largest = lanes[0];
  for (int32_t i = 1; i < kLanes; ++i) largest = largest > lanes[i] ? largest : lanes[i];

  most = vdupq_n_s8(largest);
  int32x4_t sums = vdupq_n_s32(0);
  for (int32_t i = 0; i < whole; i += kLanes) {
    const Entries t = entries_of(vld1q_s8(x + i), most, table);
    sums = vaddq_s32(sums, vaddq_s32(vaddq_s32(t.v[0], t.v[1]), vaddq_s32(t.v[2], t.v[3])));
  }
  int32_t sum =
      vgetq_lane_s32(sums, 0) + vgetq_lane_s32(sums, 1) + vgetq_lane_s32(sums, 2) + vgetq_lane_s32(sums, 3);
  for (int32_t i = whole; i < n; ++i) sum += table[largest - x[i]];

  const float r = reciprocal_scale / static_cast<float>(sum);
  const float32x4_t factor = vdupq_n_f32(r);
  const OutputNeon o = make_output_neon(output);
  for (int32_t i = 0; i < whole; i += kLanes) {
    const Entries t = entries_of(vld1q_s8(x + i), most, table);
    vst1q_s8(y + i, requantize_neon(t.v[0], t.v[1], t.v[2], t.v[3], factor, factor, factor, factor, o));
  }
  for (int32_t i = whole; i < n; ++i) y[i] = requantize_s8(table[largest - x[i]], r, output);
}

}  // namespace intaglio
