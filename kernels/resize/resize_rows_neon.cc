// Codes eight at a time, reals on AArch64 four at a time; the last vector of a pixel's channels overlaps the one before. Of fewer
// channels as many whole pixels as a vector has lanes for, from one window of the row that has all of their taps: each lane picks
// its element there. ARMv7's reals, since its vectors flush subnormals: the scalar kernel.
#include <arm_neon.h>

#include "kernels/resize/resize_few.h"

namespace intaglio {

void resize_rows_s8_neon(const ResizeRowS8* rows, int32_t count);
void resize_rows_f32_neon(const ResizeRowF32* rows, int32_t count);
void resize_rows_s8_scalar(const ResizeRowS8* rows, int32_t count);
void resize_rows_f32_scalar(const ResizeRowF32* rows, int32_t count);

namespace {

// The four corners of an output pixel.
template <typename T>
struct Corners {
  const T *x00, *x01, *x10, *x11;
};

// Calls function(corners, weight, y) for vectors of `lanes` channels of each pixel, which has one at least.
template <typename T, typename Weight, typename Function>
inline void for_each_vector(const ResizeRow<T, Weight>& row, int32_t lanes, Function function) {
  const ResizeRow<T, Weight> r = row;  // what is written to y changes none of it
  const int32_t last = r.channels - lanes;
  T* y = r.y;
  for (int32_t o = 0; o < r.ow; ++o, y += r.channels) {
    const ResizeTap<Weight> tap = r.taps[o];
    const ptrdiff_t first = static_cast<ptrdiff_t>(tap.first) * r.channels;
    const ptrdiff_t second = static_cast<ptrdiff_t>(tap.second) * r.channels;
    const Corners<T> at = {r.top + first, r.top + second, r.bottom + first, r.bottom + second};
    for (ptrdiff_t c = 0;; c = c + lanes < last ? c + lanes : last) {
      function(Corners<T>{at.x00 + c, at.x01 + c, at.x10 + c, at.x11 + c}, tap.weight, y + c);
      if (c == last) break;
    }
  }
}

// Eight codes of the rows at the weights' places. The sum's upper half is it shifted by 16 of the 22 places.
struct RowWeights {
  int32_t top, bottom;
};
inline RowWeights weights_of(const ResizeRowS8& row) { return {kResizeOne - row.row_weight, row.row_weight}; }
inline int8x8_t eight_codes(int8x8_t c00, int8x8_t c01, int8x8_t c10, int8x8_t c11, int16x8_t wx,
                            RowWeights w) {
  const int16x8_t x00 = vmovl_s8(c00), x01 = vmovl_s8(c01), x10 = vmovl_s8(c10), x11 = vmovl_s8(c11),
                  vx = vsubq_s16(vdupq_n_s16(kResizeOne), wx);
  const auto four = [w](int16x4_t p00, int16x4_t p01, int16x4_t p10, int16x4_t p11, int16x4_t v,
                        int16x4_t u) {
    const int32x4_t t = vmlal_s16(vmull_s16(p00, v), p01, u), b = vmlal_s16(vmull_s16(p10, v), p11, u);
    return vaddhn_s32(vmlaq_n_s32(vmulq_n_s32(t, w.top), b, w.bottom), vdupq_n_s32(1 << 21));
  };
  return vshrn_n_s16(vcombine_s16(four(vget_low_s16(x00), vget_low_s16(x01), vget_low_s16(x10),
                                       vget_low_s16(x11), vget_low_s16(vx), vget_low_s16(wx)),
                                  four(vget_high_s16(x00), vget_high_s16(x01), vget_high_s16(x10),
                                       vget_high_s16(x11), vget_high_s16(vx), vget_high_s16(wx))),
                     6);
}

constexpr int32_t kLanesS8 = 8, kWindowS8 = 16;

// Eight pixels: the codes at which their taps begin, of which the lowest eight bits are enough, and weights.
struct EightTaps {
  uint8x8_t first, second;
  uint8x8x2_t weight;
};
inline EightTaps load_taps(const int32_t* taps, int32_t channels) {
  const int32x4x3_t a = vld3q_s32(taps), b = vld3q_s32(taps + 12);
  const auto begins = [channels](int32x4_t low, int32x4_t high) {
    const int16x8_t pixels = vcombine_s16(vmovn_s32(low), vmovn_s32(high));
    return vmovn_u16(vreinterpretq_u16_s16(vmulq_n_s16(pixels, static_cast<int16_t>(channels))));
  };
  const uint8x16_t wx = vreinterpretq_u8_s16(vcombine_s16(vmovn_s32(a.val[2]), vmovn_s32(b.val[2])));
  return {begins(a.val[0], b.val[0]), begins(a.val[1], b.val[1]), {{vget_low_u8(wx), vget_high_u8(wx)}}};
}

// Eight lanes: their elements in the window at `at`, and their weights.
struct PicksS8 {
  bool fit;
  ptrdiff_t at;
  uint8x8_t first, second;
  int16x8_t wx;
};

void resize_few_s8(const ResizeRowS8* rows, int32_t count) {
  const int32_t channels = rows[0].channels;
  const ptrdiff_t last = readable(rows[0]) - kWindowS8;
  uint8_t of_pixel[kLanesS8], of_channel[kLanesS8];
  for (int32_t i = 0; i < kLanesS8; ++i) {
    of_pixel[i] = static_cast<uint8_t>(i / channels);
    of_channel[i] = static_cast<uint8_t>(i % channels);
  }
  const uint8x8_t lane_pixel = vld1_u8(of_pixel), lane_channel = vld1_u8(of_channel);
  for_each_of_few<kLanesS8>(
      rows, count, resize_rows_s8_scalar,
      [channels](const int32_t* taps) { return load_taps(taps, channels); },
      [&](const ResizeTapS8* tap, int32_t pixels, const EightTaps& taps, int32_t place) {
        const ptrdiff_t begin = ptrdiff_t{tap->first} * channels;
        PicksS8 picks;
        picks.at = begin < last ? begin : last;
        picks.fit = (ptrdiff_t{tap[pixels - 1].second} + 1) * channels - picks.at <= kWindowS8;
        const uint8x8_t pixel = vadd_u8(lane_pixel, vdup_n_u8(static_cast<uint8_t>(place))),
                        base = vsub_u8(lane_channel, vdup_n_u8(static_cast<uint8_t>(picks.at)));
        picks.first = vadd_u8(vtbl1_u8(taps.first, pixel), base);
        picks.second = vadd_u8(vtbl1_u8(taps.second, pixel), base);
        const uint8x8_t byte = vadd_u8(pixel, pixel);
        const uint8x8x2_t bytes = vzip_u8(byte, vadd_u8(byte, vdup_n_u8(1)));
        picks.wx = vreinterpretq_s16_u8(
            vcombine_u8(vtbl2_u8(taps.weight, bytes.val[0]), vtbl2_u8(taps.weight, bytes.val[1])));
        return picks;
      },
      [](const PicksS8& picks, const ResizeRowS8& row, int8_t* y) {
        const auto window = [&](const int8_t* line) {
          const uint8x16_t all = vreinterpretq_u8_s8(vld1q_s8(line + picks.at));
          return uint8x8x2_t{{vget_low_u8(all), vget_high_u8(all)}};
        };
        const auto picked = [](const uint8x8x2_t& from, uint8x8_t codes) {
          return vreinterpret_s8_u8(vtbl2_u8(from, codes));
        };
        const uint8x8x2_t top = window(row.top), bottom = window(row.bottom);
        vst1_s8(y,
                eight_codes(picked(top, picks.first), picked(top, picks.second), picked(bottom, picks.first),
                            picked(bottom, picks.second), picks.wx, weights_of(row)));
      });
}

void resize_many_s8(const ResizeRowS8& row) {
  const RowWeights weights = weights_of(row);
  for_each_vector(row, kLanesS8, [&](const Corners<int8_t>& at, int32_t weight, int8_t* y) {
    vst1_s8(y, eight_codes(vld1_s8(at.x00), vld1_s8(at.x01), vld1_s8(at.x10), vld1_s8(at.x11),
                           vdupq_n_s16(static_cast<int16_t>(weight)), weights));
  });
}

#if defined(__aarch64__)
constexpr int32_t kLanesF32 = 4;  // and elements of a window

inline float32x4_t four_reals(float32x4_t x00, float32x4_t x01, float32x4_t x10, float32x4_t x11,
                              float32x4_t wx, float32x4_t wy) {
  const float32x4_t t = vfmaq_f32(x00, vsubq_f32(x01, x00), wx), b = vfmaq_f32(x10, vsubq_f32(x11, x10), wx),
                    v = vfmaq_f32(t, wy, vsubq_f32(b, t)),
                    nan = vreinterpretq_f32_u32(vdupq_n_u32(0x7fc00000u));
  return vbslq_f32(vceqq_f32(v, v), vaddq_f32(v, vdupq_n_f32(0.0f)), nan);
}

// Four lanes: the first elements in the window at `at_first`, the second ones in that at `at_second`, and weights.
struct PicksF32 {
  bool fit;
  ptrdiff_t at_first, at_second;
  uint8x16_t first, second;
  float32x4_t wx;
};

void resize_few_f32(const ResizeRowF32* rows, int32_t count) {
  const int32_t channels = rows[0].channels;
  const ptrdiff_t last = readable(rows[0]) - kLanesF32;
  uint8_t of_pixel[4 * kLanesF32];
  uint32_t of_channel[kLanesF32];
  for (int32_t i = 0; i < kLanesF32; ++i) {
    of_channel[i] = static_cast<uint32_t>(i % channels);
    for (int32_t byte = 0; byte < 4; ++byte)
      of_pixel[4 * i + byte] = static_cast<uint8_t>(4 * (i / channels) + byte);
  }
  const uint8x16_t lane_pixel = vld1q_u8(of_pixel);
  const uint32x4_t lane_channel = vld1q_u32(of_channel);
  for_each_of_few<kLanesF32>(
      rows, count, resize_rows_f32_scalar, [](const int32_t* taps) { return vld3q_s32(taps); },
      [&](const ResizeTapF32* tap, int32_t pixels, const int32x4x3_t& taps, int32_t place) {
        const ptrdiff_t first = ptrdiff_t{tap->first} * channels, second = ptrdiff_t{tap->second} * channels;
        PicksF32 picks;
        picks.at_first = first < last ? first : last;
        picks.at_second = second < last ? second : last;
        picks.fit = (ptrdiff_t{tap[pixels - 1].first} + 1) * channels - picks.at_first <= kLanesF32 &&
                    (ptrdiff_t{tap[pixels - 1].second} + 1) * channels - picks.at_second <= kLanesF32;
        const uint8x16_t pixel = vaddq_u8(lane_pixel, vdupq_n_u8(static_cast<uint8_t>(4 * place)));
        const auto of_lanes = [pixel](int32x4_t of_pixels) {
          return vreinterpretq_u32_u8(vqtbl1q_u8(vreinterpretq_u8_s32(of_pixels), pixel));
        };
        const auto element = [&](int32x4_t of_pixels, ptrdiff_t at) {
          const uint32x4_t i = vmlaq_n_u32(vsubq_u32(lane_channel, vdupq_n_u32(static_cast<uint32_t>(at))),
                                           of_lanes(of_pixels), static_cast<uint32_t>(channels));
          return vreinterpretq_u8_u32(vmlaq_n_u32(vdupq_n_u32(0x03020100u), i, 0x04040404u));
        };
        picks.first = element(taps.val[0], picks.at_first);
        picks.second = element(taps.val[1], picks.at_second);
        picks.wx = vreinterpretq_f32_u32(of_lanes(taps.val[2]));
        return picks;
      },
      [](const PicksF32& picks, const ResizeRowF32& row, float* y) {
        const auto picked = [](const float* window, uint8x16_t elements) {
          return vreinterpretq_f32_u8(vqtbl1q_u8(vreinterpretq_u8_f32(vld1q_f32(window)), elements));
        };
        vst1q_f32(y, four_reals(picked(row.top + picks.at_first, picks.first),
                                picked(row.top + picks.at_second, picks.second),
                                picked(row.bottom + picks.at_first, picks.first),
                                picked(row.bottom + picks.at_second, picks.second), picks.wx,
                                vdupq_n_f32(row.row_weight)));
      });
}

void resize_many_f32(const ResizeRowF32& row) {
  const float32x4_t wy = vdupq_n_f32(row.row_weight);
  for_each_vector(row, kLanesF32, [&](const Corners<float>& at, float wx, float* y) {
    vst1q_f32(y, four_reals(vld1q_f32(at.x00), vld1q_f32(at.x01), vld1q_f32(at.x10), vld1q_f32(at.x11),
                            vdupq_n_f32(wx), wy));
  });
}
#endif

}  // namespace

void resize_rows_s8_neon(const ResizeRowS8* rows, int32_t count) {
  if (takes_windows(*rows, kLanesS8, kWindowS8)) return resize_few_s8(rows, count);
  if (rows->channels < kLanesS8) return resize_rows_s8_scalar(rows, count);
  for (; count > 0; --count, ++rows) resize_many_s8(*rows);
}

void resize_rows_f32_neon(const ResizeRowF32* rows, int32_t count) {
#if defined(__aarch64__)
  if (takes_windows(*rows, kLanesF32, kLanesF32)) return resize_few_f32(rows, count);
  if (rows->channels >= kLanesF32) {
    for (; count > 0; --count, ++rows) resize_many_f32(*rows);
    return;
  }
#endif
  resize_rows_f32_scalar(rows, count);
}

}  // namespace intaglio
