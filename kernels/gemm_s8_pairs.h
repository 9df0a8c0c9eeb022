// Weights for vpmaddubsw, which adds the products of two unsigned codes with two signed weights in a
// saturating int16. A pair of weights is safe, whatever the codes, where its positive parts sum to at most
// 128 and its negative ones to at least -128: 255 * 128 fits. Few pairs of neighbours are safe in all sixteen
// columns of a panel; but a depth may be summed in any order, and within sixteen depths nearly always an
// order exists in which all are. The packer looks for it, the kernel shuffles its rows into it, and what
// pairs are left unsafe it takes apart: even codes, then odd ones. Nothing saturates.
//
// A panel of sixteen columns, depth = taps * ceil(k / 4) * 4:
//   int32[16] folded_bias - 128 * sum w, float[16] multiplier, in the order in which packs leave the columns
//   int32     1: the order is the natural one
//   u8[ceil(depth / 16)][16]  which of its sixteen depths stands at a place
//   u8[depth / 4 + 1]  quads of depths that are safe, then one that is not, and so on; 255: no such one
//   follows padding to 64 bytes s8[depth / 4][16][4]  the weights, in that order
#pragma once

#include "kernels/gemm_s8.h"

namespace intaglio {

inline constexpr int32_t kPairsColumns = 16, kPairsBlock = 16, kPairsRun = 255;
inline constexpr int32_t kPairsRows = 4;  // that a kernel shuffles at a time, in scratch after its rows

struct PairsLayout {
  int32_t depth;
  ptrdiff_t natural, order, runs, weights, bytes;  // offsets in a panel, and its size
};

static inline PairsLayout pairs_layout(int32_t taps, int32_t k) {
  PairsLayout l;
  l.depth = taps * ((k + 3) / 4 * 4);
  l.natural = 8 * kPairsColumns;
  l.order = l.natural + 4;
  l.runs = l.order + (l.depth + kPairsBlock - 1) / kPairsBlock * kPairsBlock;
  l.weights = (l.runs + l.depth / 4 + 1 + 63) / 64 * 64;
  l.bytes = l.weights + static_cast<ptrdiff_t>(l.depth) * kPairsColumns;
  return l;
}

// Fills order, runs and weights of the panel of columns [first, first + 16) of n; returns how many quads are
// not safe.
int32_t pack_pairs(const GemmS8Kernel& kernel, const int8_t* weights, int32_t first, int32_t n, int32_t taps,
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
