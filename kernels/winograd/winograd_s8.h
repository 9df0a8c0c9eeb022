// Convolution of int8, 3 x 3 with stride 1, in tiles of 4 x 4 outputs by Winograd's F(4x4, 3x3): 36 products for 144.
//
//   acc[y][x][c] = folded_bias[c] + sum over ky, kx < 3 and i < ic of in[y - pad_top + ky][x - pad_left + kx][i] * w[c][ky][kx][i]
//   output[y][x][c] = requantize_s8(acc[y][x][c], multiplier[c], requant), or add_s8 of it and the residual    (requant.h)
//
// Outside [0, h) and [0, w) the input holds zero_point. The same integers as the direct sum, in another order:
//
//   V = B d B^T, |V| <= 12 800       U = G w G^T with G of integers, |U| <= 18 432       both int16
//   S = A (sum over i of U * V) A^T = 576 * sum, modulo 2^32
//
// where 576 = 9 * 64, and 9 has an inverse modulo 2^32: S * inverse = 64 * sum modulo 2^32, and a shift by six gives the sum
// itself, if 64 * |sum| < 2^31. Codes are used as they are, so |sum| <= 9 * ic * 128 * 128: no weights break it with at most
// kWinogradMaxDepth input channels. The bias is added afterwards. Multipliers are below 1.
//
// Packed weights: a panel for every nr columns, [int32 folded_bias nr][float multiplier nr][36][ic / kr][nr][kr] int16. `lanes`
// orders its columns as in gemm_s8.h.
#pragma once

#include <cstddef>

#include "kernels/arithmetic/requant.h"
#include "kernels/compiled_isa.h"

namespace intaglio {

struct WinogradS8Args {
  const int8_t* input;  // [h][w][ic]
  const void* packed;
  int8_t* output;          // [oh][ow][oc]; may be residual
  const int8_t* residual;  // as output; nullptr: none
  const AddS8* add;
  void* scratch;  // winograd_s8_scratch_bytes(), 64-aligned
  OutputS8 requant;
  int32_t zero_point;  // of the input
  int32_t h, w, oh, ow, ic, oc;
  int32_t pad_top, pad_left;
  int32_t first_tile, past_tile;      // line by line; (ow + 3) / 4 tiles a line
  int32_t first_column, past_column;  // of the output's channels, multiples of nr
};

struct WinogradS8Kernel {
  const char* name;
  IsaMask isa;
  int32_t tiles;                                 // that are multiplied at once
  int32_t nr, kr;                                // of a panel
  int32_t channels;                              // ic is a multiple of it, oc of nr
  int32_t lanes;                                 // 0: columns in natural order
  IsaMask superseded_by;                         // where the CPU has one of these, gemm_s8 is better
  void (*function)(const WinogradS8Args& args);  // nullptr where this build has not compiled it
};

inline constexpr int32_t kWinogradMaxDepth = 227;
static_assert(int64_t{64} * 9 * kWinogradMaxDepth * 128 * 128 < int64_t{1} << 31, "sums are exact");

inline constexpr int32_t kWinogradTile = 4, kWinogradPatch = 6, kWinogradPositions = 36;

// Whether this build lists any.
#define ITG_WINOGRAD_S8(isa, ...) ITG_LISTED(isa, || true)
inline constexpr bool kListsWinogradS8 = false
#include "kernels/winograd/winograd_s8_kernels.inc"
    ;
#undef ITG_WINOGRAD_S8

int32_t winograd_s8_count();
const WinogradS8Kernel& winograd_s8_kernel(int32_t index);
struct WinogradS8Shape {
  int32_t oh, ow, ic, oc;
};
// The first that `isa` allows, compiled or not, where it takes a layer of this shape and is faster than gemm_s8; -1: none.
int32_t winograd_s8_select(IsaMask isa, const WinogradS8Shape& shape);

int64_t winograd_s8_scratch_bytes(const WinogradS8Kernel& kernel, int32_t ic);  // a multiple of 64
int64_t winograd_s8_packed_bytes(const WinogradS8Kernel& kernel, int32_t ic, int32_t oc);
// packed: winograd_s8_packed_bytes(), 4-aligned.
void winograd_s8_pack(const WinogradS8Kernel& kernel, const int8_t* weights, const int32_t* folded_bias,
                      const float* multiplier, int32_t ic, int32_t oc, void* packed);

}  // namespace intaglio
