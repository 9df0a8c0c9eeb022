// Tiles of dwconv_3x3_f32.h over a vector type V of the instruction set, which gives
//   Register, Mask, kLanes, kColumns: columns of a tile at stride 1, two lines high
//   mask(count), load(from, mask), store(to, mask, v), zero(), multiply_add(a, b, c): a * b + c
//   Finish(clamp)(v): finish_f32
#pragma once

#include "kernels/dwconv_3x3_f32.h"

namespace intaglio {
namespace {

// What one input line adds to a tile: for its first line of output with the weights `w`, [3][channels], of
// this line's row, for the second with those of the row before.
template <typename V, int32_t Columns, int32_t Stride, bool First, bool Second>
inline void add_line(const float* const* from, ptrdiff_t first, typename V::Mask mask, const float* w,
                     ptrdiff_t channels, typename V::Register (*sums)[Columns]) {
  typename V::Register weights[2][3];
#pragma GCC unroll 3
  for (int32_t kx = 0; kx < 3; ++kx) {
    if (First) weights[0][kx] = V::load(w + kx * channels, mask);
    if (Second) weights[1][kx] = V::load(w + (kx - 3) * channels, mask);
  }
#pragma GCC unroll 15
  for (int32_t column = 0; column < (Columns - 1) * Stride + 3; ++column) {
    const typename V::Register x = V::load(from[column] + first, mask);
#pragma GCC unroll 3
    for (int32_t kx = 0; kx < 3; ++kx) {
      const int32_t out = column - kx;
      if (out < 0 || out % Stride != 0 || out / Stride >= Columns) continue;
      if (First) sums[0][out / Stride] = V::multiply_add(x, weights[0][kx], sums[0][out / Stride]);
      if (Second) sums[1][out / Stride] = V::multiply_add(x, weights[1][kx], sums[1][out / Stride]);
    }
  }
}

struct Channels {
  ptrdiff_t begin, end;
};

// Columns [x, x + Columns) of the output.
template <typename V, int32_t Columns, int32_t Stride>
void tile(const Dwconv3x3F32Args& args, Channels range, int32_t x) {
  constexpr int32_t kOutputs = Stride == 1 ? 2 : 1, kInputs = Stride == 1 ? 4 : 3;
  constexpr int32_t kWide = (Columns - 1) * Stride + 3;
  const float* from[kInputs][kWide];
  for (int32_t j = 0; j < kInputs; ++j)
    for (int32_t i = 0; i < kWide; ++i) {
      const int32_t column = x * Stride - args.pad_left + i;
      from[j][i] = column >= 0 && column < args.w ? args.lines[j] + column * args.steps[j] : args.padding;
    }
  const typename V::Finish finish(args.clamp);
  const ptrdiff_t channels = args.channels;
  const float* const bias = args.bias;
  float* const outputs[2] = {args.output[0] + x * channels,
                             args.output[1] != nullptr ? args.output[1] + x * channels : nullptr};
  const float* w = args.weights + range.begin;
  for (ptrdiff_t first = range.begin; first < range.end; first += V::kLanes, w += V::kLanes) {
    const typename V::Mask mask = V::mask(static_cast<int32_t>(range.end - first));
    typename V::Register sums[kOutputs][Columns];
    sums[0][0] = bias != nullptr ? V::load(bias + first, mask) : V::zero();
#pragma GCC unroll 2
    for (int32_t j = 0; j < kOutputs; ++j)
#pragma GCC unroll 7
      for (int32_t i = 0; i < Columns; ++i) sums[j][i] = sums[0][0];
    if (Stride == 1) {
      add_line<V, Columns, Stride, true, false>(from[0], first, mask, w, channels, sums);
      for (ptrdiff_t j = 1; j < 3; ++j)
        add_line<V, Columns, Stride, true, true>(from[j], first, mask, w + 3 * j * channels, channels, sums);
      add_line<V, Columns, Stride, false, true>(from[kInputs - 1], first, mask, w + 9 * channels, channels,
                                                sums);
    } else {
      for (ptrdiff_t j = 0; j < 3; ++j)
        add_line<V, Columns, Stride, true, false>(from[j], first, mask, w + 3 * j * channels, channels, sums);
    }
#pragma GCC unroll 2
    for (int32_t j = 0; j < kOutputs; ++j) {
      float* to = outputs[j];
      if (to == nullptr) break;
      to += first;
#pragma GCC unroll 7
      for (int32_t i = 0; i < Columns; ++i, to += channels) V::store(to, mask, finish(sums[j][i]));
    }
  }
}

template <typename V, int32_t Columns, int32_t Stride>
void all_columns(const Dwconv3x3F32Args& args, Channels range) {
  int32_t x = 0;
  for (; x + Columns <= args.ow; x += Columns) tile<V, Columns, Stride>(args, range, x);
  for (; x + 3 <= args.ow; x += 3) tile<V, 3, Stride>(args, range, x);
  for (; x < args.ow; ++x) tile<V, 1, Stride>(args, range, x);
}

// Channels [begin, end).
template <typename V>
void dwconv_3x3(const Dwconv3x3F32Args& args, int32_t begin, int32_t end) {
  if (args.stride == 1) {
    all_columns<V, V::kColumns, 1>(args, {begin, end});
  } else {
    all_columns<V, 7, 2>(args, {begin, end});
  }
}

}  // namespace
}  // namespace intaglio
