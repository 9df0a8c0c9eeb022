// How tiles of plain NEON's product are stored: four columns of four rows.
#pragma once

#include "kernels/gemm/gemm_s8_neon_tile.h"

namespace intaglio {
namespace {

constexpr int32_t kRowsStored = 4, kColumnsStored = 4;

#if defined(__aarch64__)

// A whole tile, four columns of four rows.
__attribute__((always_inline)) inline void store_whole(const WorkNeon& work, int8x16_t codes) {
  int8_t* to = work.output;
  store_quarter_neon<0>(codes, work.output_stride, &to);
  store_quarter_neon<1>(codes, work.output_stride, &to);
  store_quarter_neon<2>(codes, work.output_stride, &to);
  store_quarter_neon<3>(codes, work.output_stride, &to);
}

// With the residual.
template <bool Short>
__attribute__((noinline)) void store_whole_sums(const int8_t* residual, size_t residual_stride, int8_t* to,
                                                size_t to_stride, const AddNeon& add, int8x16_t codes) {
  const int8x16_t sums = add.sum<Short>(codes, load_quarters_neon(residual, residual_stride));
  store_quarter_neon<0>(sums, to_stride, &to);
  store_quarter_neon<1>(sums, to_stride, &to);
  store_quarter_neon<2>(sums, to_stride, &to);
  store_quarter_neon<3>(sums, to_stride, &to);
}

inline SumsNeon<int8x16_t> make_tile_sums(const GemmS8Args& args) {
  SumsNeon<int8x16_t> sums;
  if (args.residual != nullptr) {
    sums.add = AddNeon(*args.add);
    sums.residual_stride = args.residual_stride;
    sums.store = AddNeon::is_short(*args.add) ? store_whole_sums<true> : store_whole_sums<false>;
  }
  return sums;
}

#else

inline void store_whole(const WorkNeon& work, int8x16_t codes) {
  const int32x4_t words = vreinterpretq_s32_s8(codes);
  const int32_t w0 = vgetq_lane_s32(words, 0), w1 = vgetq_lane_s32(words, 1);
  const int32_t w2 = vgetq_lane_s32(words, 2), w3 = vgetq_lane_s32(words, 3);
  int8_t* to = work.output;
  memcpy(to, &w0, sizeof w0);
  memcpy(to += work.output_stride, &w1, sizeof w1);
  memcpy(to += work.output_stride, &w2, sizeof w2);
  memcpy(to + work.output_stride, &w3, sizeof w3);
}
// Sixteen registers: the way of the ends.
inline SumsNeon<int8x16_t> make_tile_sums(const GemmS8Args&) { return {}; }

#endif

// Clamps and stores wide codes, four columns of four rows, with the residual.
inline void store_tile(const GemmS8Args& args, const WorkNeon& work, int32_t row, const OutputNeon& output,
                       const SumsNeon<int8x16_t>& sums, int8x16_t codes) {
  if (work.direct) return store_whole(work, codes);
  codes = clamp_neon(codes, output);
  if (work.whole) return store_whole(work, codes);
  const int32_t first = args.n - work.columns;
  if (work.residual == nullptr || sums.store == nullptr)
    return store_neon<kColumnsStored>(args, row, first, codes);
  sums.store(work.residual + first, sums.residual_stride, work.output, work.output_stride, sums.add, codes);
}

}  // namespace
}  // namespace intaglio
