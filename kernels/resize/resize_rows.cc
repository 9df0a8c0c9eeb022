#include "kernels/resize/resize_rows.h"

#include "kernels/arithmetic/fma_f32.h"
#include "kernels/arithmetic/output_f32.h"
#include "kernels/compiled_isa.h"

namespace intaglio {

// The bilinear loops, which compilers vectorise. T: int8_t, with sums of int32_t; int16_t, with sums of int64_t.
template <typename T, typename Sum>
static inline void resize_row_codes(const ResizeRow<T, int32_t>& row) {
  constexpr int32_t kShift = 22;
  const Sum wy = row.row_weight, vy = kResizeOne - wy;
  T* y = row.y;
  for (int32_t o = 0; o < row.ow; ++o, y += row.channels) {
    const ptrdiff_t first = static_cast<ptrdiff_t>(row.taps[o].first) * row.channels;
    const ptrdiff_t second = static_cast<ptrdiff_t>(row.taps[o].second) * row.channels;
    const T *const x00 = row.top + first, *const x01 = row.top + second;
    const T *const x10 = row.bottom + first, *const x11 = row.bottom + second;
    const int32_t wx = row.taps[o].weight, vx = kResizeOne - wx;
    for (int32_t c = 0; c < row.channels; ++c) {
      const int32_t t = x00[c] * vx + x01[c] * wx, b = x10[c] * vx + x11[c] * wx;
      y[c] = static_cast<T>((t * vy + b * wy + (1 << (kShift - 1))) >> kShift);
    }
  }
}

static inline void resize_row_s8(const ResizeRow<int8_t, int32_t>& row) {
  resize_row_codes<int8_t, int32_t>(row);
}

static inline void resize_row_f32(const ResizeRow<float, float>& row) {
  const float wy = row.row_weight;
  float* y = row.y;
  for (int32_t o = 0; o < row.ow; ++o, y += row.channels) {
    const ptrdiff_t first = static_cast<ptrdiff_t>(row.taps[o].first) * row.channels;
    const ptrdiff_t second = static_cast<ptrdiff_t>(row.taps[o].second) * row.channels;
    const float *const x00 = row.top + first, *const x01 = row.top + second;
    const float *const x10 = row.bottom + first, *const x11 = row.bottom + second;
    const float wx = row.taps[o].weight;
    for (int32_t c = 0; c < row.channels; ++c) {
      const float t = fma_f32(wx, x01[c] - x00[c], x00[c]), b = fma_f32(wx, x11[c] - x10[c], x10[c]);
      y[c] = canonical_f32(fma_f32(wy, b - t, t));
    }
  }
}

#define ITG_RESIZE_ROWS(isa)                                         \
  void resize_rows_s8_##isa(const ResizeRowS8* rows, int32_t count); \
  void resize_rows_f32_##isa(const ResizeRowF32* rows, int32_t count);
#include "kernels/resize/resize_rows_kernels.inc"
#undef ITG_RESIZE_ROWS

namespace {

#define ITG_RESIZE_ROWS(isa)                     \
  ITG_KERNEL(ResizeRowsKernel, resize_rows, isa, \
             ITG_COMPILED(isa, k.rows_s8 = resize_rows_s8_##isa; k.rows_f32 = resize_rows_f32_##isa;))
constexpr ResizeRowsKernel kKernels[] = {
#include "kernels/resize/resize_rows_kernels.inc"
};
#undef ITG_RESIZE_ROWS

}  // namespace

ITG_KERNEL_LIST(ResizeRowsKernel, resize_rows, kKernels)
ITG_FIRST_ALLOWED(resize_rows, kKernels)

void resize_rows_s16(const ResizeRow<int16_t, int32_t>* rows, int32_t count) {
  for (; count > 0; --count, ++rows) resize_row_codes<int16_t, int64_t>(*rows);
}

void resize_rows_s8_scalar(const ResizeRowS8* rows, int32_t count);
void resize_rows_f32_scalar(const ResizeRowF32* rows, int32_t count);

void resize_rows_s8_scalar(const ResizeRowS8* rows, int32_t count) {
  for (; count > 0; --count, ++rows) resize_row_s8(*rows);
}
void resize_rows_f32_scalar(const ResizeRowF32* rows, int32_t count) {
  for (; count > 0; --count, ++rows) resize_row_f32(*rows);
}

}  // namespace intaglio
