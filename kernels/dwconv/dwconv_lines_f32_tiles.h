// Tiles of dwconv_f32.h over a vector type V of the instruction set, which gives
//   Register, kLanes, kLines: of a tile of 3 x 3 at stride 1, one or two
//   kBranches: whether each column's store asks for itself, which is shorter, or whole tiles have their own
//   load(from), store(to, v), zero(), multiply_add(a, b, c): a * b + c
//   Finish(clamp)(v): finish_f32; where kClamps: Finish::is_clamp(clamp), whether finish.clamp(v) gives the same
#pragma once

#include "kernels/dwconv/dwconv_f32.h"

namespace intaglio {
namespace {

// Adds one input line to a tile: for its first line of output with the weights `w`, [Side][channels], of
// this line's row, for the second with those of the row before.
template <typename V, int32_t Side, int32_t Columns, int32_t Stride, bool First, bool Second>
inline void add_line(const float* const* from, ptrdiff_t first, const float* w, ptrdiff_t channels,
                     typename V::Register (*sums)[Columns]) {
  typename V::Register weights[2][Side];
#pragma GCC unroll 7
  for (int32_t kx = 0; kx < Side; ++kx) {
    if (First) weights[0][kx] = V::load(w + kx * channels);
    if (Second) weights[1][kx] = V::load(w + (kx - Side) * channels);
  }
#pragma GCC unroll 17
  for (int32_t column = 0; column < (Columns - 1) * Stride + Side; ++column) {
    const typename V::Register x = V::load(from[column] + first);
#pragma GCC unroll 7
    for (int32_t kx = 0; kx < Side; ++kx) {
      const int32_t out = column - kx;
      if (out < 0 || out % Stride != 0 || out / Stride >= Columns) continue;
      if (First) sums[0][out / Stride] = V::multiply_add(x, weights[0][kx], sums[0][out / Stride]);
      if (Second) sums[1][out / Stride] = V::multiply_add(x, weights[1][kx], sums[1][out / Stride]);
    }
  }
}

// Columns [x, x + Columns) of the output, of which the first `stored` are; those past them are computed from
// padding. The last vector of channels overlaps the one before.
template <typename V, int32_t Side, int32_t Columns, int32_t Stride>
void tile(const DwconvLinesF32Args& args, int32_t x, int32_t stored) {
  constexpr int32_t kOutputs = Side == 3 && Stride == 1 ? V::kLines : 1, kInputs = Side - 1 + kOutputs;
  constexpr int32_t kWide = (Columns - 1) * Stride + Side;
  const float* from[kInputs][kWide];
  for (int32_t j = 0; j < kInputs; ++j)
    for (int32_t i = 0; i < kWide; ++i) {
      const int32_t column = x * Stride - args.pad_left + i;
      from[j][i] = column >= 0 && column < args.w ? args.lines[j] + column * args.steps[j] : args.padding;
    }
  const typename V::Finish finish(args.clamp);
  [[maybe_unused]] bool clamps = false;
  if constexpr (V::kClamps) clamps = V::Finish::is_clamp(args.clamp);
  const ptrdiff_t channels = args.channels;
  const float* const bias = args.bias;
  float* const outputs[2] = {args.output[0] + x * channels,
                             args.output[1] != nullptr ? args.output[1] + x * channels : nullptr};
  const ptrdiff_t last = channels - V::kLanes;
  const float* const weights = args.weights;
  for (ptrdiff_t first = 0;; first = first + V::kLanes < last ? first + V::kLanes : last) {
    const float* const w = weights + first;
    typename V::Register sums[kOutputs][Columns];
    sums[0][0] = bias != nullptr ? V::load(bias + first) : V::zero();
#pragma GCC unroll 2
    for (int32_t j = 0; j < kOutputs; ++j)
#pragma GCC unroll 7
      for (int32_t i = 0; i < Columns; ++i) sums[j][i] = sums[0][0];
    constexpr bool kTwo = kOutputs == 2;
    constexpr ptrdiff_t kLine = Side;
    if (kTwo) add_line<V, Side, Columns, Stride, true, false>(from[0], first, w, channels, sums);
    ptrdiff_t lines = Side;
#if defined(__x86_64__)
    __asm__("" : "+r"(lines));  // gcc would unroll the loop in spite of a pragma, for no more than its text
#endif
    for (ptrdiff_t j = kTwo ? 1 : 0; j < lines; ++j)
      add_line<V, Side, Columns, Stride, true, kTwo>(from[j], first, w + kLine * j * channels, channels,
                                                     sums);
    if (kTwo)
      add_line<V, Side, Columns, Stride, false, kTwo>(from[kInputs - 1], first, w + kLine * Side * channels,
                                                      channels, sums);
    const auto store = [&](int32_t count, auto finished) {
#pragma GCC unroll 2
      for (int32_t j = 0; j < kOutputs; ++j) {
        float* to = outputs[j];
        if (to == nullptr) break;
        to += first;
#pragma GCC unroll 7
        for (int32_t i = 0; i < Columns; ++i, to += channels) {
          if (i == count) break;
          V::store(to, finished(sums[j][i]));
        }
      }
    };
    const bool whole = !V::kBranches && stored == Columns;
    if constexpr (V::kClamps && Side == 3) {
      if (whole && clamps) {
        store(Columns, [&](typename V::Register v) { return finish.clamp(v); });
        if (first == last) return;
        continue;
      }
    }
    whole ? store(Columns, finish) : store(stored, finish);
    if (first == last) return;
  }
}

// The last tile overlaps the one before.
template <typename V, int32_t Side, int32_t Stride>
void all_columns(const DwconvLinesF32Args& args) {
  constexpr int32_t kColumns = 7;
  const int32_t last = args.ow - kColumns;
  for (int32_t x = 0; x < last; x += kColumns) tile<V, Side, kColumns, Stride>(args, x, kColumns);
  tile<V, Side, kColumns, Stride>(args, last > 0 ? last : 0, last > 0 ? kColumns : args.ow);
}

template <typename V>
void dwconv_lines(const DwconvLinesF32Args& args) {
  if (args.side == 7) return all_columns<V, 7, 1>(args);
  if (args.side == 5) return args.stride == 1 ? all_columns<V, 5, 1>(args) : all_columns<V, 5, 2>(args);
  if (args.stride == 2) return all_columns<V, 3, 2>(args);
  all_columns<V, 3, 1>(args);
  if (V::kLines == 2 || args.output[1] == nullptr) return;
  DwconvLinesF32Args second = args;
  for (int32_t j = 0; j < 3; ++j) {
    second.lines[j] = args.lines[j + 1];
    second.steps[j] = args.steps[j + 1];
  }
  second.output[0] = args.output[1];
  all_columns<V, 3, 1>(second);
}

}  // namespace
}  // namespace intaglio
