// Parts that the kernels of winograd_s8.h share: their order of work. A block of tiles is transformed, then multiplied by one panel
// of weights after the other.
#pragma once

#include "kernels/winograd/winograd_s8.h"

namespace intaglio {
namespace {  // a copy for each instruction set

inline constexpr uint32_t kInverseOf9 = 0x38e38e39;  // modulo 2^32

// A tile's first output.
struct WinogradPlace {
  int32_t y, x;
};

inline WinogradPlace winograd_place(const WinogradS8Args& args, int32_t tile) {
  const int32_t across = (args.ow + kWinogradTile - 1) / kWinogradTile, line = tile / across;
  return {line * kWinogradTile, (tile - line * across) * kWinogradTile};
}

// Where a tile's input starts, and the distance of its lines: in the picture, or in `patch`, with its padding.
struct WinogradInput {
  const int8_t* from;
  ptrdiff_t line;
};

inline WinogradInput winograd_input(const WinogradS8Args& args, int32_t tile, int8_t* patch) {
  const WinogradPlace place = winograd_place(args, tile);
  const int32_t y = place.y - args.pad_top, x = place.x - args.pad_left, ic = args.ic;
  const ptrdiff_t line = static_cast<ptrdiff_t>(args.w) * ic;
  if (y >= 0 && x >= 0 && y + kWinogradPatch <= args.h && x + kWinogradPatch <= args.w)
    return {args.input + y * line + static_cast<ptrdiff_t>(x) * ic, line};
  const ptrdiff_t patch_line = static_cast<ptrdiff_t>(kWinogradPatch) * ic;
  memset(patch, args.zero_point, static_cast<size_t>(kWinogradPatch * patch_line));
  const int32_t first = x < 0 ? -x : 0, past = args.w - x < kWinogradPatch ? args.w - x : kWinogradPatch;
  for (int32_t i = 0; i < kWinogradPatch; ++i)
    if (y + i >= 0 && y + i < args.h && first < past)
      memcpy(patch + i * patch_line + static_cast<ptrdiff_t>(first) * ic,
             args.input + (y + i) * line + static_cast<ptrdiff_t>(x + first) * ic,
             static_cast<size_t>(past - first) * static_cast<size_t>(ic));
  return {patch, patch_line};
}

// Isa: kTiles, kColumns; transform(input, ic, to, step): all channels, position p of them at to + p * step;
// multiply(v, tiles, ic, u, to): one position of a block, sums of tile t at to + t * 36 * kColumns, and of those past the last
// one, up to kTiles, whatever scratch holds;
// store(args, place, panel, column, sums): one tile's outputs.
template <typename Isa>
inline void winograd_s8_run(const WinogradS8Args& args) {
  constexpr int32_t kTiles = Isa::kTiles, kColumns = Isa::kColumns;
  const ptrdiff_t ic = args.ic, step = kTiles * ic;
  const ptrdiff_t panel_bytes = kColumns * (8 + ptrdiff_t{kWinogradPositions} * ic * 2);
  auto* const v = static_cast<int16_t*>(args.scratch);
  auto* const sums = reinterpret_cast<int32_t*>(v + kWinogradPositions * step);
  auto* const patch = reinterpret_cast<int8_t*>(sums + kWinogradPositions * kTiles * kColumns);
  for (int32_t tile = args.first_tile; tile < args.past_tile; tile += kTiles) {
    const int32_t count = args.past_tile - tile < kTiles ? args.past_tile - tile : kTiles;
    for (int32_t t = 0; t < count; ++t) {
      const WinogradInput input = winograd_input(args, tile + t, patch);
      Isa::transform(input.from, input.line, args.ic, v + t * ic, step);
    }
    const auto* panel = static_cast<const uint8_t*>(args.packed) + args.first_column / kColumns * panel_bytes;
    for (int32_t column = args.first_column; column < args.past_column;
         column += kColumns, panel += panel_bytes) {
      const auto* const u = reinterpret_cast<const int16_t*>(panel + ptrdiff_t{8} * kColumns);
      for (ptrdiff_t p = 0; p < kWinogradPositions; ++p)
        Isa::multiply(v + p * step, count, ic, u + p * ic * kColumns, sums + p * kColumns);
      for (int32_t t = 0; t < count; ++t)
        Isa::store(args, winograd_place(args, tile + t), panel, column,
                   sums + static_cast<ptrdiff_t>(t) * kWinogradPositions * kColumns);
    }
  }
}

}  // namespace
}  // namespace intaglio
