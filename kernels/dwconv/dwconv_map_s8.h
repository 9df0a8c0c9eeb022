// Depthwise convolution, 3 x 3, of whole maps, some channels at a time, int8.
//
//   acc[y][x][c] = folded_bias[c] + sum over ky, kx < 3 of
//                  in[y * stride - pad_top + ky][x * stride - pad_left + kx][c] * w[ky][kx][c]
//   output[y][x][c] = requantize_s8(acc[y][x][c], multiplier[c], requant)                         (requant.h)
//
// for y < oh, x < ow and first <= c < last; wrapping int32, multipliers below 1. Outside [0, h) and [0, w) the
// input holds zero_point.
//
// The trick: a channel's whole map is computed before the next one's, so its weights stay in registers; four
// channels' lines are widened into planes of int16 once, where two neighbours are a pair of products.
//
// Layouts: input [h][w][channels], weights [3][3][channels], both in place; output [oh][ow][channels], overlaps
// nothing. `first` and `last` are multiples of kDwconvMapChannels, as channels are.
#pragma once

#include <cstddef>

#include "kernels/arithmetic/requant.h"
#include "kernels/compiled_isa.h"

namespace intaglio {

struct DwconvMapS8Args {
  const int8_t* input;
  const int8_t* weights;
  const int32_t* folded_bias;
  const float* multiplier;
  int8_t* output;
  void* scratch;  // dwconv_map_s8_scratch_bytes(), 4-aligned
  OutputS8 requant;
  int32_t zero_point;  // of the input
  int32_t h, w, oh, ow, channels;
  int32_t first, last;
  int32_t pad_top, pad_left;  // at most 2
  int32_t stride;             // 1 or 2
};

struct DwconvMapS8Kernel {
  const char* name;
  IsaMask isa;
  IsaMask superseded_by;                          // where the CPU has this, dwconv_s8 is better
  void (*function)(const DwconvMapS8Args& args);  // nullptr where this build has not compiled it
};

inline constexpr int32_t kDwconvMapChannels = 4;

// Whether this build lists any, and whether it can run one.
#define ITG_DWCONV_MAP_S8(isa, ...) ITG_LISTED(isa, || true)
inline constexpr bool kListsDwconvMapS8 = false
#include "kernels/dwconv/dwconv_map_s8_kernels.inc"
    ;
#undef ITG_DWCONV_MAP_S8
#define ITG_DWCONV_MAP_S8(isa, ...) || (kCompiledIsa & isa_by_name::isa) != 0
inline constexpr bool kRunsDwconvMapS8 = false
#include "kernels/dwconv/dwconv_map_s8_kernels.inc"
    ;
#undef ITG_DWCONV_MAP_S8

int32_t dwconv_map_s8_count();
const DwconvMapS8Kernel& dwconv_map_s8_kernel(int32_t index);
// The first that `isa` allows, compiled or not, and that takes this output; -1: none.
int32_t dwconv_map_s8_select(IsaMask isa, int32_t ow, int32_t oh, int32_t channels);

// Its planes lie along the longer side of the output.
static inline bool dwconv_map_s8_turned(int32_t ow, int32_t oh) { return oh > ow; }
// Words of a line of a plane, two columns each.
static inline int32_t dwconv_map_s8_pairs(int32_t ow, int32_t oh, int32_t stride) {
  const int32_t outputs = dwconv_map_s8_turned(ow, oh) ? oh : ow;
  return stride == 1 ? (outputs + 1) / 2 + 1 : outputs + 1;
}
int64_t dwconv_map_s8_scratch_bytes(int32_t ow, int32_t oh, int32_t stride);  // a multiple of 64

}  // namespace intaglio
