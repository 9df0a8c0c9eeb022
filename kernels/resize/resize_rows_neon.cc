// Codes eight at a time, reals on AArch64 four at a time; the last vector of a pixel's channels overlaps the
// one before. Fewer channels, and ARMv7's reals, since its vectors flush subnormals: the scalar kernel.
#include <arm_neon.h>

#include "kernels/resize/resize_rows.h"

namespace intaglio {

void resize_row_s8_neon(const ResizeRow<int8_t, int32_t>& row);
void resize_row_f32_neon(const ResizeRow<float, float>& row);
void resize_row_s8_scalar(const ResizeRow<int8_t, int32_t>& row);
void resize_row_f32_scalar(const ResizeRow<float, float>& row);

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

}  // namespace

void resize_row_s8_neon(const ResizeRow<int8_t, int32_t>& row) {
  constexpr int32_t kLanes = 8;
  if (row.channels < kLanes) return resize_row_s8_scalar(row);
  const int32_t wy = row.row_weight, vy = kResizeOne - wy;
  for_each_vector(row, kLanes, [&](const Corners<int8_t>& at, int32_t weight, int8_t* y) {
    const auto wx = static_cast<int16_t>(weight), vx = static_cast<int16_t>(kResizeOne - weight);
    const int16x8_t x00 = vmovl_s8(vld1_s8(at.x00)), x01 = vmovl_s8(vld1_s8(at.x01));
    const int16x8_t x10 = vmovl_s8(vld1_s8(at.x10)), x11 = vmovl_s8(vld1_s8(at.x11));
    // The sum's upper half is it shifted by 16 of the 22 places.
    const auto four = [&](int16x4_t p00, int16x4_t p01, int16x4_t p10, int16x4_t p11) {
      const int32x4_t t = vmlal_n_s16(vmull_n_s16(p00, vx), p01, wx);
      const int32x4_t b = vmlal_n_s16(vmull_n_s16(p10, vx), p11, wx);
      return vaddhn_s32(vmlaq_n_s32(vmulq_n_s32(t, vy), b, wy), vdupq_n_s32(1 << 21));
    };
    const int16x8_t sums =
        vcombine_s16(four(vget_low_s16(x00), vget_low_s16(x01), vget_low_s16(x10), vget_low_s16(x11)),
                     four(vget_high_s16(x00), vget_high_s16(x01), vget_high_s16(x10), vget_high_s16(x11)));
    vst1_s8(y, vshrn_n_s16(sums, 6));
  });
}

#if defined(__aarch64__)
void resize_row_f32_neon(const ResizeRow<float, float>& row) {
  constexpr int32_t kLanes = 4;
  if (row.channels < kLanes) return resize_row_f32_scalar(row);
  const float32x4_t wy = vdupq_n_f32(row.row_weight), zero = vdupq_n_f32(0.0f);
  const float32x4_t nan = vreinterpretq_f32_u32(vdupq_n_u32(0x7fc00000u));
  for_each_vector(row, kLanes, [&](const Corners<float>& at, float wx, float* y) {
    const float32x4_t x00 = vld1q_f32(at.x00), x10 = vld1q_f32(at.x10);
    const float32x4_t t = vfmaq_n_f32(x00, vsubq_f32(vld1q_f32(at.x01), x00), wx);
    const float32x4_t b = vfmaq_n_f32(x10, vsubq_f32(vld1q_f32(at.x11), x10), wx);
    const float32x4_t v = vfmaq_f32(t, wy, vsubq_f32(b, t));
    vst1q_f32(y, vbslq_f32(vceqq_f32(v, v), vaddq_f32(v, zero), nan));
  });
}
#else
void resize_row_f32_neon(const ResizeRow<float, float>& row) { resize_row_f32_scalar(row); }
#endif

}  // namespace intaglio
