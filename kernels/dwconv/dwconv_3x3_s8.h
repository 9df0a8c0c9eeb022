// Depthwise convolution, 3 x 3, of one or two lines of output, int8.
//
//   acc[j][x][c] = folded_bias[c]
//                  + sum over ky, kx < 3 of in[j * stride + ky][x * stride - pad_left + kx][c] * w[ky][kx][c]
//   output[j][x * channels + c] = requantize_s8(acc[j][x][c], multiplier[c], requant)             (requant.h)
//
// for x < ow and c < channels; wrapping int32, multipliers below 1. A column outside [0, w) holds `padding`.
//
// The trick: the four lines' bytes of a column, interleaved, are the operand of an instruction that sums four
// products, for three output columns and, at stride 1, for two output lines. Where there is no such
// instruction (quad 1) the lines stay as they are, and the registers hold each code for its nine products.
//
// Layouts: an input line is a pointer to its first column and the step to the next, 0 where a line of padding
// is one column. Packed: a piece for each of dwconv_3x3_s8_block()'s blocks, which may overlap: int32[width],
// the bias less lhs_offset * sum w; float[width], the multiplier; the weights,
// [line of output][kx][4 / quad][width][quad], of int16 where quad is 2, else of bytes: those of a channel for
// quad input lines side by side; where quad is 1 one line of output, which the other is computed with. The
// order of a block's channels is that in which packs, 128 bits at a time, undo the interleaving. output
// overlaps nothing.
#pragma once

#include <cstddef>

#include "kernels/arithmetic/requant.h"
#include "kernels/compiled_isa.h"

namespace intaglio {

struct Dwconv3x3S8Args {
  const int8_t* lines[4];  // at stride 2 the fourth is unused, but readable
  ptrdiff_t steps[4];
  const int8_t* padding;  // `channels` input zero points
  const void* packed;
  int8_t* output[2];  // the second is nullptr at stride 2, and where there is none
  OutputS8 requant;
  int32_t w, ow, channels, pad_left;
  int32_t stride;  // 1 or 2
};

struct Dwconv3x3S8Kernel {
  const char* name;
  IsaMask isa;
  int32_t lhs_offset;
  int32_t max_block, min_block;                   // channels of its blocks: 64, 32 or 16
  int32_t quad;                                   // products that one lane sums: 4, 2 or 1
  void (*function)(const Dwconv3x3S8Args& args);  // nullptr where this build has not compiled it
};

inline constexpr int32_t kDwconv3x3MinChannels = 8;

// Whether this build lists any.
#define ITG_DWCONV_3X3_S8(isa, ...) ITG_LISTED(isa, || true)
inline constexpr bool kListsDwconv3x3S8 = false
#include "kernels/dwconv/dwconv_3x3_s8_kernels.inc"
    ;
#undef ITG_DWCONV_3X3_S8

int32_t dwconv_3x3_s8_count();
const Dwconv3x3S8Kernel& dwconv_3x3_s8_kernel(int32_t index);
// The first that `isa` allows, compiled or not; -1: none.
int32_t dwconv_3x3_s8_select(IsaMask isa);

// Whether these weights are for this kernel: with quad 1 the products of lines 0 and 1 are summed in int16,
// which fits unless both weights are -128. weights: [3][3][channels].
bool dwconv_3x3_s8_fits(const Dwconv3x3S8Kernel& kernel, const int8_t* weights, int32_t channels);

int64_t dwconv_3x3_s8_packed_bytes(const Dwconv3x3S8Kernel& kernel, int32_t channels);
// weights: [3][3][channels].
void dwconv_3x3_s8_pack(const Dwconv3x3S8Kernel& kernel, const int8_t* weights, const int32_t* folded_bias,
                        const float* multiplier, int32_t channels, void* packed);

// A block's channels are [start, start + count). It ends at the last channel where it would pass it, and has
// fewer than `width` only where there are no more: 16 positions then hold the first eight and the last eight,
// 32 the channels and nothing after them.
struct Dwconv3x3Block {
  int32_t start, count, width;
};

// The block that starts at `first`, where the one before ends.
static inline Dwconv3x3Block dwconv_3x3_s8_block(int32_t max_block, int32_t min_block, int32_t channels,
                                                 int32_t first) {
  int32_t width = max_block;
  while (width > min_block && width > channels - first) width /= 2;
  if (channels < width) return {0, channels, width};
  return {first + width <= channels ? first : channels - width, width, width};
}

}  // namespace intaglio
