// Softmax of int8 and int16.
#include "kernels/arithmetic/requant_neon.h"
#include "kernels/normalize/softmax.h"

namespace intaglio {

// Sixteen codes at a time; the table's entries, which no vector instruction gathers, one by one.

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

// Eight codes at a time. No instruction gathers from a table: entries are found one by one, and those of the first part of a row
// are kept until the sum is known.

namespace {

constexpr int32_t kLanesS16 = 8, kKept = 512;

// softmax_entry_s16 of eight.
inline void find_entries(const int16_t* x, int16x8_t largest, const int32_t* table, int32_t* found) {
  // A difference has 16 bits, and no sign: its bytes are the two indices.
  uint32_t pairs[kLanesS16 / 2];
  const uint16x8_t differences =
      vsubq_u16(vreinterpretq_u16_s16(largest), vreinterpretq_u16_s16(vld1q_s16(x)));
  vst1q_u32(pairs, vreinterpretq_u32_u16(differences));
  const int32_t* const of_low = table + 256;
  int32_t coarse[kLanesS16], fine[kLanesS16];
#pragma GCC unroll 8
  for (int32_t i = 0; i < kLanesS16; ++i) {
    const uint32_t d = pairs[i / 2] >> 16 * (i % 2);
    fine[i] = of_low[d & 255];
    coarse[i] = table[d >> 8 & 255];
  }
  for (int32_t i = 0; i < kLanesS16; i += 4) {
    const int32x4_t a = vld1q_s32(coarse + i), b = vld1q_s32(fine + i);
    const int64x2_t low = vmull_s32(vget_low_s32(a), vget_low_s32(b));
    const int64x2_t high = vmull_s32(vget_high_s32(a), vget_high_s32(b));
    vst1q_s32(found + i, vcombine_s32(vrshrn_n_s64(low, 30), vrshrn_n_s64(high, 30)));
  }
}

}  // namespace

void softmax_s16_neon(const int16_t* x, const int32_t* table, float reciprocal_scale, int16_t* y, int32_t n) {
  if (n < kLanesS16) return softmax_s16_scalar(x, table, reciprocal_scale, y, n);
  const int32_t whole = n / kLanesS16 * kLanesS16;
  int16x8_t most = vld1q_s16(x + n - kLanesS16);  // meeting some of them again changes nothing
  for (int32_t i = 0; i < whole; i += kLanesS16) most = vmaxq_s16(most, vld1q_s16(x + i));
  int16_t lanes[kLanesS16];
  vst1q_s16(lanes, most);
  int32_t largest = lanes[0];
  for (const int16_t lane : lanes) largest = largest > lane ? largest : lane;

  most = vdupq_n_s16(static_cast<int16_t>(largest));
  int32_t kept[kKept], later[kLanesS16];
  int32x4_t sums = vdupq_n_s32(0);
  for (int32_t i = 0; i < whole; i += kLanesS16) {
    int32_t* const found = i < kKept ? kept + i : later;
    find_entries(x + i, most, table, found);
    sums = vaddq_s32(sums, vaddq_s32(vld1q_s32(found), vld1q_s32(found + 4)));
  }
  int32_t sum =
      vgetq_lane_s32(sums, 0) + vgetq_lane_s32(sums, 1) + vgetq_lane_s32(sums, 2) + vgetq_lane_s32(sums, 3);
  for (int32_t i = whole; i < n; ++i) sum += softmax_entry_s16(table, largest - x[i]);

  const float r = reciprocal_scale / static_cast<float>(sum);
  const float32x4_t factor = vdupq_n_f32(r);
  const OutputS16 output = make_output_s16(-32768, 32767);
  for (int32_t i = 0; i < whole; i += kLanesS16) {
    int32_t* const found = i < kKept ? kept + i : later;
    if (i >= kKept) find_entries(x + i, most, table, found);
    vst1q_s16(y + i, vcombine_s16(neon_requantize_s16(vld1q_s32(found), factor, output),
                                  neon_requantize_s16(vld1q_s32(found + 4), factor, output)));
  }
  for (int32_t i = whole; i < n; ++i)
    y[i] = requantize_s16(softmax_entry_s16(table, largest - x[i]), r, output);
}

}  // namespace intaglio
