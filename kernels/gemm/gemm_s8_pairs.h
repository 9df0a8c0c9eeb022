// Weights for vpmaddubsw, which adds the products of two unsigned codes with two signed weights in a
// saturating int16. Sums of weights are safe, whatever the codes, where the positive ones are at most 128
// together and the negative ones at least -128: 255 * 128 fits. So two may be multiplied at once; and where
// four are safe, int16 holds the sum of two such steps, and half as many have to be widened.
//
// Few neighbours are safe in all sixteen columns of a panel. But depths may be summed in any order, and a
// code's complement may take its place: (127 - x) * -w = x * w - 127 * w, and what is constant goes into the
// bias. Within sixteen depths an order and signs nearly always exist in which all pairs are safe, and in most
// layers the greater part of fours. The packer looks for them, the kernel shuffles its rows accordingly, and
// what pairs are left unsafe it takes apart: even codes, then odd ones. Nothing saturates.
//
// A panel of sixteen columns, depth = taps * ceil(k / 4) * 4:
//   int32[16] bias, less what the rows' offsets add, float[16] multiplier, in the order of the columns
//             that packs give
//   int32     double_quads: how many groups of eight depths are summed by fours
//   int32     safe: how many quads after them are multiplied by safe pairs
//   u8[ceil(depth / 32)][32]  from 160 bytes on: which of its sixteen depths is at a place of a shuffled
//             row
//   u8[ceil(depth / 32)][32]  what a code there is combined with, by exclusive or: 0x80 gives x + 128, 0x7f
//             127 - x
//   int32[depth / 4]  where in that row each quad begins: those of double quads, two that follow each other,
//             then safe ones, then others
//   padding to 64 bytes, s8[depth / 4][16][4]  the weights, quad by quad
// Where eight columns or fewer are left, their weights are in the first eight places, in natural order.
#pragma once

#include "kernels/gemm/gemm_s8.h"

namespace intaglio {

inline constexpr int32_t kPairsColumns = 16, kPairsDepths = 16;

struct PairsLayout {
  int32_t depth;
  ptrdiff_t row;                                          // bytes of a shuffled row: whole vectors
  ptrdiff_t counts, order, signs, quads, weights, bytes;  // offsets in a panel, and its size
};

static inline PairsLayout pairs_layout(int32_t taps, int32_t k) {
  PairsLayout l;
  l.depth = taps * ((k + 3) / 4 * 4);
  l.row = (static_cast<ptrdiff_t>(l.depth) + 31) / 32 * 32;
  l.counts = 8 * kPairsColumns;
  l.order = l.counts + 32;
  l.signs = l.order + l.row;
  l.quads = l.signs + l.row;
  l.weights = (l.quads + l.depth + 63) / 64 * 64;
  l.bytes = l.weights + static_cast<ptrdiff_t>(l.depth) * kPairsColumns;
  return l;
}

// Whether sixteen depths are always in one row of one tap. Where they are not, the kernel puts the rows of a
// tile's taps together first, each rounded up to a multiple of four.
static inline bool pairs_in_place(int32_t k) { return k % kPairsDepths == 0; }

// How many rows it shuffles at a time: as many as stay in the first cache beside what they are shuffled from
// and the panel; twelve at least, which share what is set up for them.
static inline int32_t pairs_group(const PairsLayout& layout, int32_t mr) {
  constexpr ptrdiff_t kFew = 12;
  const ptrdiff_t fit = 7168 / layout.row / 4 * 4;
  return fit < kFew ? kFew : fit < mr ? static_cast<int32_t>(fit) : mr;
}

struct PairsCounts {
  int32_t double_quads, safe;
};

// Completes the panel of columns [first, first + 16), whose biases (less 128 * sum w) and multipliers
// are there.
void pack_pairs(const GemmS8Kernel& kernel, const GemmS8Weights& plain, int32_t first, uint8_t* panel);

// Quads of depths of all panels; those that are multiplied by safe pairs at least, and of these by fours.
struct PairsProof {
  int64_t quads, safe, by_fours;
};
PairsProof count_safe_pairs(const GemmS8Kernel& kernel, const void* packed, int32_t n, int32_t taps,
                            int32_t k);

// The column, within its panel, at position p.
int32_t gemm_s8_panel_column(const GemmS8Kernel& kernel, int32_t width, int32_t p);

}  // namespace intaglio
