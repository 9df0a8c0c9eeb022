// The scalar gemm kernels with four columns side by side and requantizing in integers, for cores without DSP extension
// (Cortex-M3, M23): there it takes a third of the instructions. gemm_s8_scalar.cc is the plain form of it, which defines the
// answer.
#pragma once

#include "kernels/arithmetic/requant_soft.h"
#include "kernels/gemm/gemm_s8_windows.h"

namespace intaglio {
namespace {

inline constexpr int32_t kSideBySide = 4;

// Columns side by side, so that a code of a row is read once for all: where their next weights are, and their sums.
// Unsigned: sums in between may wrap.
struct ColumnTile {
  const int8_t* w[kSideBySide];
  uint32_t sums[kSideBySide];
};

// Adds the next k products of each column: with x[0], x[1], ..., or with x[0] alone.
template <int32_t kNext>
[[gnu::noinline]] inline void add_to_columns(const int8_t* x, int32_t k, ColumnTile* tile) {
  const int8_t *const w0 = tile->w[0], *const w1 = tile->w[1], *const w2 = tile->w[2], *const w3 = tile->w[3];
  uint32_t s0 = tile->sums[0], s1 = tile->sums[1], s2 = tile->sums[2], s3 = tile->sums[3];
  for (int32_t i = 0; i < k; ++i) {
    const int32_t v = x[i * kNext];
    s0 += static_cast<uint32_t>(v * w0[i]);
    s1 += static_cast<uint32_t>(v * w1[i]);
    s2 += static_cast<uint32_t>(v * w2[i]);
    s3 += static_cast<uint32_t>(v * w3[i]);
  }
  *tile = {{w0 + k, w1 + k, w2 + k, w3 + k}, {s0, s1, s2, s3}};
}

inline void add_window_to_columns(const GemmS8Windows& of, const int8_t* input, const WindowAt& at, int32_t k,
                                  ColumnTile* tile) {
  const auto padding = static_cast<int8_t>(of.zero_point);
  for (int32_t ky = 0; ky < of.kernel_h; ++ky)
    for (int32_t kx = 0; kx < of.kernel_w; ++kx) {
      const int32_t dy = ky * of.dilation_h, dx = kx * of.dilation_w;
      const bool inside =
          at.inside || (at.y + dy >= 0 && at.y + dy < of.h && at.x + dx >= 0 && at.x + dx < of.w);
      const ptrdiff_t from = at.from + (static_cast<ptrdiff_t>(dy) * of.w + dx) * of.channels;
      inside ? add_to_columns<1>(input + from, k, tile) : add_to_columns<0>(&padding, k, tile);
    }
}

[[gnu::noinline]] inline void store_code(const GemmS8Args& args, const OutputSoft& output, int32_t r,
                                         int32_t c, uint32_t acc) {
  const auto row = static_cast<size_t>(r), column = static_cast<size_t>(c);
  int8_t q = requantize_soft(static_cast<int32_t>(acc), args.multiplier[c], args.requant, output);
  if (args.residual != nullptr) q = add_s8(q, args.residual[row * args.residual_stride + column], *args.add);
  args.output[row * args.output_stride + column] = q;
}

// All columns of row r; add(tile) adds the products of a tile. Behind the last column it stands once more.
template <typename Add>
inline void columns_of_row(const GemmS8Args& args, const OutputSoft& output, int32_t r, Add add) {
  const ptrdiff_t depth = static_cast<ptrdiff_t>(args.taps) * args.k;
  const auto* w = static_cast<const int8_t*>(args.weights);
  for (int32_t c = 0; c < args.n; c += kSideBySide) {
    ColumnTile tile;
    for (int32_t i = 0; i < kSideBySide; ++i) {
      const int32_t column = c + i < args.n ? c + i : args.n - 1;
      tile.w[i] = w + column * depth;
      tile.sums[i] = static_cast<uint32_t>(args.folded_bias[column]);
    }
    add(&tile);
    for (int32_t i = 0; i < kSideBySide && c + i < args.n; ++i)
      store_code(args, output, r, c + i, tile.sums[i]);
  }
}

inline void gemm_s8_by_columns(const GemmS8Args& args) {
  const OutputSoft output = make_output_soft(args.requant);
  const int32_t depth = args.taps * args.k;
  const int8_t* x = args.first_row;
  for (int32_t r = 0; r < args.m; ++r, x += args.row_distance)
    columns_of_row(args, output, r, [&](ColumnTile* tile) { add_to_columns<1>(x, depth, tile); });
}

inline void gemm_s8_windows_by_columns(const GemmS8Args& args) {
  const OutputSoft output = make_output_soft(args.requant);
  WindowWalk walk(*args.windows, args.first_window);
  for (int32_t r = 0; r < args.m; ++r) {
    const WindowAt at = walk.next();
    columns_of_row(args, output, r, [&](ColumnTile* tile) {
      add_window_to_columns(*args.windows, args.first_row, at, args.k, tile);
    });
  }
}

}  // namespace
}  // namespace intaglio
