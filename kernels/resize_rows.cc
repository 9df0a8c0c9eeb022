#include "kernels/resize_rows.h"

#include "kernels/canonical_f32.h"
#include "kernels/fma_f32.h"

namespace intaglio {

void resize_row_s8(const int8_t* top, const int8_t* bottom, int32_t row_weight, const ResizeTapS8* taps,
                   int32_t ow, int32_t channels, int8_t* y) {
  constexpr int32_t kShift = 22;
  const int32_t wy = row_weight, vy = kResizeOne - wy;
  for (int32_t o = 0; o < ow; ++o, y += channels) {
    const ptrdiff_t first = static_cast<ptrdiff_t>(taps[o].first) * channels;
    const ptrdiff_t second = static_cast<ptrdiff_t>(taps[o].second) * channels;
    const int8_t *const x00 = top + first, *const x01 = top + second;
    const int8_t *const x10 = bottom + first, *const x11 = bottom + second;
    const int32_t wx = taps[o].weight, vx = kResizeOne - wx;
    for (int32_t c = 0; c < channels; ++c) {
      const int32_t t = x00[c] * vx + x01[c] * wx, b = x10[c] * vx + x11[c] * wx;
      y[c] = static_cast<int8_t>((t * vy + b * wy + (1 << (kShift - 1))) >> kShift);
    }
  }
}

void resize_row_f32(const float* top, const float* bottom, float row_weight, const ResizeTapF32* taps,
                    int32_t ow, int32_t channels, float* y) {
  for (int32_t o = 0; o < ow; ++o, y += channels) {
    const ptrdiff_t first = static_cast<ptrdiff_t>(taps[o].first) * channels;
    const ptrdiff_t second = static_cast<ptrdiff_t>(taps[o].second) * channels;
    const float *const x00 = top + first, *const x01 = top + second;
    const float *const x10 = bottom + first, *const x11 = bottom + second;
    const float wx = taps[o].weight;
    for (int32_t c = 0; c < channels; ++c) {
      const float t = fma_f32(wx, x01[c] - x00[c], x00[c]), b = fma_f32(wx, x11[c] - x10[c], x10[c]);
      y[c] = canonical_f32(fma_f32(row_weight, b - t, t));
    }
  }
}

}  // namespace intaglio
