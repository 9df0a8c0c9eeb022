// The products of gemm_s8_neon.cc, on AArch64 and on ARMv7, and of gemm_s8_neona53.cc.
#pragma once

#include "kernels/arithmetic/requant_neon.h"
#include "kernels/gemm/gemm_s8_neon_tile.h"

namespace intaglio {
namespace {

constexpr int32_t kNr = 4, kKr = 16;

#if defined(__aarch64__)
constexpr int32_t kRowsAtOnce = 4;

inline int32x4_t load_first_lane(const int32_t* from) {
  int32x4_t v;
  __asm__ volatile("ldr %s0, %1" : "=w"(v) : "m"(*from));
  return v;
}
inline int32x4_t add_across(int32x4_t a, int32x4_t b, int32x4_t c, int32x4_t d) {
  return vpaddq_s32(vpaddq_s32(a, b), vpaddq_s32(c, d));
}
// Sixteen depths of four rows times a column: four of each instruction, so that none waits for the one before it.
inline void multiply_four(const int8x16_t* a, int8x16_t b, int32x4_t* s0, int32x4_t* s1, int32x4_t* s2,
                          int32x4_t* s3) {
  int32x4_t v0 = *s0, v1 = *s1, v2 = *s2, v3 = *s3;
  int16x8_t p0, p1, p2, p3;
  __asm__(
      "smull %4.8h, %8.8b, %12.8b\n\tsmull %5.8h, %9.8b, %12.8b\n\t"
      "smull %6.8h, %10.8b, %12.8b\n\tsmull %7.8h, %11.8b, %12.8b\n\t"
      "smlal2 %4.8h, %8.16b, %12.16b\n\tsmlal2 %5.8h, %9.16b, %12.16b\n\t"
      "smlal2 %6.8h, %10.16b, %12.16b\n\tsmlal2 %7.8h, %11.16b, %12.16b\n\t"
      "sadalp %0.4s, %4.8h\n\tsadalp %1.4s, %5.8h\n\tsadalp %2.4s, %6.8h\n\tsadalp %3.4s, %7.8h"
      : "+w"(v0), "+w"(v1), "+w"(v2), "+w"(v3), "=&w"(p0), "=&w"(p1), "=&w"(p2), "=&w"(p3)
      : "w"(a[0]), "w"(a[1]), "w"(a[2]), "w"(a[3]), "w"(b));
  *s0 = v0;
  *s1 = v1;
  *s2 = v2;
  *s3 = v3;
}
inline int16x8_t add_upper_products(int16x8_t sum, int8x16_t a, int8x16_t b) {
  __asm__("smlal2 %0.8h, %1.16b, %2.16b" : "+w"(sum) : "w"(a), "w"(b));
  return sum;
}
// In assembly: gcc 12 copies accumulators around the intrinsic.
inline int32x4_t add_pairs(int32x4_t sum, int16x8_t v) {
  __asm__("sadalp %0.4s, %1.8h" : "+w"(sum) : "w"(v));
  return sum;
}
#else
constexpr int32_t kRowsAtOnce = 2;  // sixteen registers

inline int16x8_t add_upper_products(int16x8_t sum, int8x16_t a, int8x16_t b) {
  return multiply_add_high_neon(sum, a, b);
}
inline int32x4_t add_pairs(int32x4_t sum, int16x8_t v) { return vpadalq_s16(sum, v); }
inline int32x4_t load_first_lane(const int32_t* from) { return vsetq_lane_s32(*from, vdupq_n_s32(0), 0); }
inline int32x2_t halves(int32x4_t v) {
  const uint32x4_t sums = vreinterpretq_u32_s32(v);
  return vreinterpret_s32_u32(vadd_u32(vget_low_u32(sums), vget_high_u32(sums)));
}
inline int32x4_t add_across(int32x4_t a, int32x4_t b, int32x4_t c, int32x4_t d) {
  return vcombine_s32(vpadd_s32(halves(a), halves(b)), vpadd_s32(halves(c), halves(d)));
}
#endif

// Sixteen depths, or eight: the lower halves. w: [4][16].
template <int32_t Rows, bool Fits, bool Half>
inline void multiply_block(const int8x16_t* a, const int8_t* w, int32x4_t (*acc)[kNr]) {
  const TwoNeon left = load_two_neon<0>(w), right = load_two_neon<2 * kKr>(w);
  const int8x16_t b[kNr] = {left.first, left.second, right.first, right.second};
#pragma GCC unroll 4
  for (int32_t c = 0; c < kNr; ++c) {
#if defined(__aarch64__)
    if constexpr (Rows == 4 && Fits && !Half) {
      multiply_four(a, b[c], &acc[0][c], &acc[1][c], &acc[2][c], &acc[3][c]);
      continue;
    }
#endif
    int16x8_t p[Rows];
#pragma GCC unroll 4
    for (int32_t r = 0; r < Rows; ++r) {
      p[r] = multiply_low_neon(a[r], b[c]);
      if (!Fits && !Half) {
        acc[r][c] = add_pairs(acc[r][c], p[r]);
        p[r] = multiply_high_neon(a[r], b[c]);
      }
    }
#pragma GCC unroll 4
    for (int32_t r = 0; r < Rows; ++r) {
      if (Fits && !Half) p[r] = add_upper_products(p[r], a[r], b[c]);
    }
#pragma GCC unroll 4
    for (int32_t r = 0; r < Rows; ++r) acc[r][c] = add_pairs(acc[r][c], p[r]);
  }
}

template <int32_t Rows, bool Fits>
__attribute__((always_inline)) inline void multiply_end(const RowsNeon& in, const int8_t* const* x,
                                                        ptrdiff_t at, const int8_t* w,
                                                        int32x4_t (*acc)[kNr]) {
  int8x16_t a[Rows];
  load_ends_neon<Rows>(x, at, in.load, a);
  if (in.rest > 8) return multiply_block<Rows, Fits, false>(a, w, acc);
  multiply_block<Rows, Fits, true>(a, w, acc);
}

// Whether the four columns of a panel are proved: 1 for each that is.
constexpr uint64_t kFit = 0x0000000100000001u;
inline uint64_t pairs_that_fit(const int8_t* flags) {
  uint64_t two, other;
  memcpy(&two, flags, sizeof two);
  memcpy(&other, flags + sizeof two, sizeof other);
  return two & other;
}
inline bool all_fit(const int8_t* flags) { return pairs_that_fit(flags) == kFit; }

inline bool all_panels_fit(const GemmS8Args& args) {
  const ptrdiff_t panel =
      static_cast<ptrdiff_t>(args.taps) * ((args.k + kKr - 1) / kKr) * kNr * kKr + sizeof(int32_t) * kNr;
  const auto* w = static_cast<const int8_t*>(args.weights);
  uint64_t fit = kFit;
  for (int32_t c = 0; c < args.n; c += kNr, w += panel) fit &= pairs_that_fit(w);
  return fit == kFit;
}

}  // namespace

// How tiles of plain NEON's product are stored: four columns of four rows.

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
