// Plain NEON multiplies int16 by a lane into int32, four at a time: 36 of them do for 144 products of int8, which it multiplies
// sixteen in three instructions.
#include "kernels/arithmetic/requant_neon.h"
#include "kernels/winograd/winograd_s8_tiles.h"

namespace intaglio {
namespace {

// B d of six int16 each.
inline void transform_input(const int16x8_t d[6], int16x8_t to[6]) {
  const int16x8_t t = vsubq_s16(d[4], vshlq_n_s16(d[2], 2)), u = vsubq_s16(d[3], vshlq_n_s16(d[1], 2));
  const int16x8_t v = vsubq_s16(d[4], d[2]), s = vsubq_s16(d[3], d[1]);
  to[0] = vmlaq_n_s16(v, vsubq_s16(d[0], d[2]), 4);
  to[1] = vaddq_s16(t, u);
  to[2] = vsubq_s16(t, u);
  to[3] = vmlaq_n_s16(v, s, 2);
  to[4] = vmlsq_n_s16(v, s, 2);
  to[5] = vmlsq_n_s16(vsubq_s16(d[5], d[3]), s, 4);
}

// A m of six int32 each, which may wrap.
inline void transform_output(const uint32x4_t m[6], uint32x4_t to[4]) {
  const uint32x4_t a = vaddq_u32(m[1], m[2]), b = vsubq_u32(m[1], m[2]);
  const uint32x4_t c = vaddq_u32(m[3], m[4]), d = vsubq_u32(m[3], m[4]);
  const uint32x4_t d2 = vaddq_u32(d, d);
  to[0] = vaddq_u32(vaddq_u32(m[0], a), c);
  to[1] = vaddq_u32(b, d2);
  to[2] = vaddq_u32(a, vshlq_n_u32(c, 2));
  to[3] = vaddq_u32(b, vshlq_n_u32(vaddq_u32(d2, m[5]), 2));
}

#if defined(__aarch64__)
typedef int16x8_t Depths;     // of one tile
constexpr int32_t kRows = 8;  // at once
inline Depths load_depths(const int16_t* v) { return vld1q_s16(v); }
template <int32_t Depth>
inline void add_products(int32x4_t acc[2], int16x8_t u, Depths x) {
  acc[0] = vmlal_laneq_s16(acc[0], vget_low_s16(u), x, Depth);
  acc[1] = vmlal_high_laneq_s16(acc[1], u, x, Depth);
}
#else
typedef int16x4_t Depths;
constexpr int32_t kRows = 4;
inline Depths load_depths(const int16_t* v) { return vld1_s16(v); }
template <int32_t Depth>
inline void add_products(int32x4_t acc[2], int16x8_t u, Depths x) {
  acc[0] = vmlal_lane_s16(acc[0], vget_low_s16(u), x, Depth);
  acc[1] = vmlal_lane_s16(acc[1], vget_high_s16(u), x, Depth);
}
#endif
constexpr int32_t kDepths = sizeof(Depths) / sizeof(int16_t);

template <int32_t kCount, int32_t Depth>
inline void add_depth(int32x4_t acc[kCount][2], const int16_t* u, const Depths x[kCount]) {
  const int16x8_t of_depth = vld1q_s16(u + Depth * 8);
#pragma GCC unroll 8
  for (int32_t r = 0; r < kCount; ++r) add_products<Depth>(acc[r], of_depth, x[r]);
  if constexpr (Depth + 1 < kDepths) add_depth<kCount, Depth + 1>(acc, u, x);
}

// Tiles of one position by eight columns.
template <int32_t kCount>
inline void multiply_rows(const int16_t* v, ptrdiff_t ic, const int16_t* u, int32_t* to) {
  int32x4_t acc[kCount][2];
#pragma GCC unroll 8
  for (int32_t r = 0; r < kCount; ++r) acc[r][0] = acc[r][1] = vdupq_n_s32(0);
  for (ptrdiff_t i = 0; i < ic; i += kDepths, u += kDepths * 8) {
    Depths x[kCount];
#pragma GCC unroll 8
    for (int32_t r = 0; r < kCount; ++r) x[r] = load_depths(v + r * ic + i);
    add_depth<kCount, 0>(acc, u, x);
  }
#pragma GCC unroll 8
  for (int32_t r = 0; r < kCount; ++r) {
    vst1q_s32(to + r * kWinogradPositions * 8, acc[r][0]);
    vst1q_s32(to + r * kWinogradPositions * 8 + 4, acc[r][1]);
  }
}

struct Neon {
  static constexpr int32_t kTiles = 8, kColumns = 8;

  static void transform(const int8_t* from, ptrdiff_t line, int32_t ic, int16_t* to, ptrdiff_t step) {
    for (int32_t c = 0; c < ic; c += 8, from += 8, to += 8) {
      int16x8_t half[6][6];  // [column][line]
      for (int32_t x = 0; x < 6; ++x) {
        int16x8_t d[6];
#pragma GCC unroll 6
        for (int32_t y = 0; y < 6; ++y)
          d[y] = vmovl_s8(vld1_s8(from + y * line + static_cast<ptrdiff_t>(x) * ic));
        transform_input(d, half[x]);
      }
      for (int32_t y = 0; y < 6; ++y) {
        int16x8_t d[6], out[6];
#pragma GCC unroll 6
        for (int32_t x = 0; x < 6; ++x) d[x] = half[x][y];
        transform_input(d, out);
#pragma GCC unroll 6
        for (int32_t x = 0; x < 6; ++x) vst1q_s16(to + (y * 6 + x) * step, out[x]);
      }
    }
  }

  __attribute__((noinline)) static void multiply(const int16_t* v, int32_t tiles, ptrdiff_t ic,
                                                 const int16_t* u, int32_t* to) {
    constexpr ptrdiff_t kStep = ptrdiff_t{kWinogradPositions} * kColumns;
    if (kRows < kTiles || tiles <= kRows / 2) {
      for (int32_t t = 0; t < tiles; t += 4, v += 4 * ic, to += 4 * kStep) multiply_rows<4>(v, ic, u, to);
    } else {
      multiply_rows<kTiles>(v, ic, u, to);
    }
  }

  static void store(const WinogradS8Args& args, WinogradPlace place, const uint8_t* panel, int32_t column,
                    const int32_t* sums) {
    uint32x4_t columns[2][4][6];  // [half][line]
    for (int32_t x = 0; x < 6; ++x)
#pragma GCC unroll 2
      for (int32_t half = 0; half < 2; ++half) {
        uint32x4_t m[6], of_column[4];
#pragma GCC unroll 6
        for (int32_t y = 0; y < 6; ++y)
          m[y] = vreinterpretq_u32_s32(vld1q_s32(sums + (y * 6 + x) * 8 + 4 * half));
        transform_output(m, of_column);
#pragma GCC unroll 4
        for (int32_t y = 0; y < 4; ++y) columns[half][y][x] = of_column[y];
      }
    const auto* const heads = reinterpret_cast<const int32_t*>(panel);
    const auto* const factors = reinterpret_cast<const float*>(panel) + 8;
    const int32x4_t bias[2] = {vld1q_s32(heads), vld1q_s32(heads + 4)};
    const float32x4_t multiplier[2] = {vld1q_f32(factors), vld1q_f32(factors + 4)};
    const uint32x4_t inverse_of_9 = vdupq_n_u32(kInverseOf9);
    const OutputNeon output = make_output_neon(args.requant);
    const auto exact = [&](uint32x4_t sum, int32_t half) {
      return vsraq_n_s32(bias[half], vreinterpretq_s32_u32(vmulq_u32(sum, inverse_of_9)), 6);
    };
    const int32_t width = args.ow - place.x < 4 ? args.ow - place.x : 4;
    const int32_t height = args.oh - place.y < 4 ? args.oh - place.y : 4;
    for (int32_t y = 0; y < height; ++y) {
      uint32x4_t line[2][4];
      transform_output(columns[0][y], line[0]);
      transform_output(columns[1][y], line[1]);
      ptrdiff_t at = (static_cast<ptrdiff_t>(place.y + y) * args.ow + place.x) * args.oc + column;
      for (int32_t x = 0; x < width; x += 2, at += 2 * static_cast<ptrdiff_t>(args.oc)) {
        const ptrdiff_t next = x + 1 < width ? at + args.oc : at;
        int8x16_t codes = requantize_neon(exact(line[0][x], 0), exact(line[1][x], 1),
                                          exact(line[0][x + 1], 0), exact(line[1][x + 1], 1), multiplier[0],
                                          multiplier[1], multiplier[0], multiplier[1], output);
        if (args.residual != nullptr) codes = add(args, at, next, codes);
        if (next != at) vst1_s8(args.output + next, vget_high_s8(codes));
        vst1_s8(args.output + at, vget_low_s8(codes));
      }
    }
  }

  __attribute__((noinline)) static int8x16_t add(const WinogradS8Args& args, ptrdiff_t at, ptrdiff_t next,
                                                 int8x16_t codes) {
    const int8x16_t others = vcombine_s8(vld1_s8(args.residual + at), vld1_s8(args.residual + next));
    const AddNeon sum(*args.add);
    return AddNeon::is_short(*args.add) ? sum.sum<true>(codes, others) : sum.sum<false>(codes, others);
  }
};

}  // namespace

void winograd_s8_neon(const WinogradS8Args& args);

void winograd_s8_neon(const WinogradS8Args& args) { winograd_s8_run<Neon>(args); }

}  // namespace intaglio
