// Weights for vpmaddubsw, which adds the products of two unsigned codes with two signed weights in a
// saturating int16. A pair of weights is safe, whatever the codes, where its positive parts sum to at most
// 128 and its negative ones to at least -128: 255 * 128 fits. Few pairs of neighbours are safe in all sixteen
// columns of a panel; but a depth may be summed in any order, and within sixteen depths nearly always an
// order exists in which all are. The packer looks for it, the kernel shuffles its rows into it, and what
// pairs are left unsafe it takes apart: even codes, then odd ones. Nothing saturates.
//
// A panel of sixteen columns, depth = taps * ceil(k / 4) * 4:
//   int32[16] folded_bias - 128 * sum w, float[16] multiplier, in the order in which packs leave the columns
//   int32     how many quads of depths are safe
//   u8[ceil(depth / 32)][32]  from 160 bytes on: which of its sixteen depths stands at a place of a shuffled
//   row int32[depth / 4]  where in that row each quad begins, the safe ones first padding to 64 bytes,
//   s8[depth / 4][16][4]  the weights, quad by quad
#pragma once

#include "kernels/gemm_s8.h"

namespace intaglio {

inline constexpr int32_t kPairsColumns = 16, kPairsDepths = 16;

struct PairsLayout {
  int32_t depth;
  ptrdiff_t row;                                 // bytes of a shuffled row: whole vectors
  ptrdiff_t safe, order, quads, weights, bytes;  // offsets in a panel, and its size
};

static inline PairsLayout pairs_layout(int32_t taps, int32_t k) {
  PairsLayout l;
  l.depth = taps * ((k + 3) / 4 * 4);
  l.row = (static_cast<ptrdiff_t>(l.depth) + 31) / 32 * 32;
  l.safe = 8 * kPairsColumns;
  l.order = l.safe + 32;
  l.quads = l.order + l.row;
  l.weights = (l.quads + l.depth + 63) / 64 * 64;
  l.bytes = l.weights + static_cast<ptrdiff_t>(l.depth) * kPairsColumns;
  return l;
}

// Whether sixteen depths always stand in one row of one tap. Where they do not, the kernel puts the rows of a
// tile's taps together first, each rounded up to a multiple of four.
static inline bool pairs_in_place(int32_t k) { return k % kPairsDepths == 0; }

// How many rows it shuffles at a time: as many as stay in the first cache, four at least.
static inline int32_t pairs_group(const PairsLayout& layout, int32_t mr) {
  const ptrdiff_t fit = 24576 / layout.row / 4 * 4;
  return fit < 4 ? 4 : fit < mr ? static_cast<int32_t>(fit) : mr;
}

// Fills order, quads and weights of the panel of columns [first, first + 16) of n.
void pack_pairs(const GemmS8Kernel& kernel, const int8_t* weights, int32_t first, int32_t n, int32_t taps,
                int32_t k, uint8_t* panel);

// The share of the quads of depths that a kernel of this kind multiplies at full speed, of all its panels.
struct PairsProof {
  int64_t quads, safe;
};
PairsProof count_safe_pairs(const GemmS8Kernel& kernel, const void* packed, int32_t n, int32_t taps,
                            int32_t k);

// The column, within its panel, that stands at position p.
int32_t gemm_s8_panel_column(const GemmS8Kernel& kernel, int32_t width, int32_t p);

}  // namespace intaglio
