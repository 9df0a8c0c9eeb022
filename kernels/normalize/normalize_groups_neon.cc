// Sixteen codes of 8 bits at a time, or eight of 16: sums by pairwise additions, then four differences a vector.
#include "kernels/arithmetic/requant_neon.h"
#include "kernels/normalize/normalize_groups_loops.h"

namespace intaglio {

void normalize_groups_s8_neon(const NormalizeArgs& args);
void normalize_groups_s16_neon(const NormalizeArgs& args);
void normalize_groups_f32_neon(const NormalizeArgs& args);

namespace {

constexpr int32_t kCodes = 16, kWideCodes = 8;
constexpr int32_t kTile =
    256;  // places whose sums stay in registers: a tile of some channels stays in the first-level cache

struct Sums {
  int64_t sum, square;
};

inline int64_t total(int64x2_t v) { return vgetq_lane_s64(v, 0) + vgetq_lane_s64(v, 1); }

struct Four {
  int32x4_t v[4];
};

inline Four widened(int8x16_t codes) {
  const int16x8_t low = vmovl_s8(vget_low_s8(codes)), high = vmovl_s8(vget_high_s8(codes));
  return {{vmovl_s16(vget_low_s16(low)), vmovl_s16(vget_high_s16(low)), vmovl_s16(vget_low_s16(high)),
           vmovl_s16(vget_high_s16(high))}};
}

// A lane of the squares takes 2^16 at most of each sixteen codes.
Sums sums_s8(const int8_t* x, int32_t n) {
  Sums result = {0, 0};
  int32_t i = 0;
  while (n - i >= kCodes) {
    const int32_t end = n - i < kMaxRun ? n : i + kMaxRun;
    int32x4_t sum = vdupq_n_s32(0), square = vdupq_n_s32(0);
    for (; i + kCodes <= end; i += kCodes) {
      const int8x16_t codes = vld1q_s8(x + i);
      sum = vpadalq_s16(sum, vpaddlq_s8(codes));
      square = vpadalq_s16(square, vmull_s8(vget_low_s8(codes), vget_low_s8(codes)));
      square = vpadalq_s16(square, vmull_s8(vget_high_s8(codes), vget_high_s8(codes)));
    }
    result.sum += total(vpaddlq_s32(sum));
    result.square += total(vpaddlq_s32(square));
  }
  for (; i < n; ++i) {
    result.sum += x[i];
    result.square += x[i] * x[i];
  }
  return result;
}

// n at most kSmallGroup.
Sums sums_s16(const int16_t* x, int32_t n) {
  int32x4_t sum = vdupq_n_s32(0);
  int64x2_t square = vdupq_n_s64(0);
  int32_t i = 0;
  for (; i + kWideCodes <= n; i += kWideCodes) {
    const int16x8_t codes = vld1q_s16(x + i);
    sum = vpadalq_s16(sum, codes);
    square = vpadalq_s32(square, upper_products_neon(codes, codes));
    square = vpadalq_s32(square, vmull_s16(vget_low_s16(codes), vget_low_s16(codes)));
  }
  Sums result = {total(vpaddlq_s32(sum)), total(square)};
  for (; i < n; ++i) {
    result.sum += x[i];
    result.square += int64_t{x[i]} * x[i];
  }
  return result;
}

// Four elements: n * code - centre, and the rest of the formula.
inline float32x4_t normalized_neon(int32x4_t codes, int32_t n, int32x4_t centre, float32x4_t inverse,
                                   const float* scale, const float* shift, float reciprocal_scale) {
  const int32x4_t difference = vsubq_s32(vmulq_n_s32(codes, n), centre);
  const float32x4_t scaled = vmulq_f32(vmulq_f32(vcvtq_f32_s32(difference), inverse), vld1q_f32(scale));
  return vmulq_n_f32(vaddq_f32(scaled, vld1q_f32(shift)), reciprocal_scale);
}

void row_s8(const NormalizeArgs& args, const int8_t* x, int8_t* y, const float* scale, const float* shift) {
  const int32_t n = args.groups.depth;
  const Sums sums = sums_s8(x, n);
  const CentreS8 of_row = centre_s8(args, n, sums.sum, sums.square);
  const float reciprocal_scale = args.reciprocal_scale;
  int32_t i = 0;
  if (is_ordinary(of_row.inverse, reciprocal_scale)) {
    const int32x4_t centre = vdupq_n_s32(of_row.centre);
    const float32x4_t inverse = vdupq_n_f32(of_row.inverse);
    const OutputNeon output = make_output_neon(args.s8);
    for (; i + kCodes <= n; i += kCodes) {
      const Four codes = widened(vld1q_s8(x + i));
      float32x4_t v[4];
      for (int32_t j = 0; j < 4; ++j)
        v[j] = normalized_neon(codes.v[j], n, centre, inverse, scale + i + 4 * j, shift + i + 4 * j,
                               reciprocal_scale);
      vst1q_s8(y + i, codes_neon(v[0], v[1], v[2], v[3], output));
    }
  }
  normalize_rest_s8(args, of_row, x, y, scale, shift, i);
}

inline int16x4_t codes_s16(float32x4_t v, const OutputS16& output) {
  const float32x4_t magic = vdupq_n_f32(12582912.0f);  // as in round_half_even()
  v = vminq_f32(vmaxq_f32(v, vdupq_n_f32(output.lo)), vdupq_n_f32(output.hi));
  const int32x4_t bits = vreinterpretq_s32_f32(vaddq_f32(v, magic));
  return vmovn_s32(vsubq_s32(bits, vreinterpretq_s32_f32(magic)));
}

void row_s16(const NormalizeArgs& args, const int16_t* x, int16_t* y, const float* scale,
             const float* shift) {
  const int32_t n = args.groups.depth;
  const Sums sums = sums_s16(x, n);
  const CentreS16 of_row = centre_s16(args, n, sums.sum, sums.square);
  const auto centre = static_cast<int32_t>(of_row.centre);
  const float reciprocal_scale = args.reciprocal_scale;
  const OutputS16 output = args.s16;
  int32_t i = 0;
  if (is_ordinary(of_row.inverse, reciprocal_scale)) {
    const int32x4_t centres = vdupq_n_s32(centre);
    const float32x4_t inverse = vdupq_n_f32(of_row.inverse);
    for (; i + kWideCodes <= n; i += kWideCodes) {
      const int16x8_t codes = vld1q_s16(x + i);
      const float32x4_t low = normalized_neon(vmovl_s16(vget_low_s16(codes)), n, centres, inverse, scale + i,
                                              shift + i, reciprocal_scale);
      const float32x4_t high = normalized_neon(vmovl_s16(vget_high_s16(codes)), n, centres, inverse,
                                               scale + i + 4, shift + i + 4, reciprocal_scale);
      vst1q_s16(y + i, vcombine_s16(codes_s16(low, output), codes_s16(high, output)));
    }
  }
  normalize_rest_s16(args, of_row, x, y, scale, shift, i);
}

// Adds up each channel of some places.
void add_places_s8(const int8_t* x, ptrdiff_t stride, int32_t places, int32_t channels, int64_t* sums,
                   int64_t* squares) {
  int32_t c = 0;
  for (; c + kCodes <= channels; c += kCodes) {
    Four sum, square;
    for (int32_t j = 0; j < 4; ++j) sum.v[j] = square.v[j] = vdupq_n_s32(0);
    for (int32_t p = 0; p < places; ++p) {
      const int8x16_t codes = vld1q_s8(x + p * stride + c);
      const int16x8_t half[2] = {vmovl_s8(vget_low_s8(codes)), vmovl_s8(vget_high_s8(codes))};
      for (int32_t h = 0; h < 2; ++h) {
        const int16x4_t low = vget_low_s16(half[h]), high = vget_high_s16(half[h]);
        sum.v[2 * h] = vaddw_s16(sum.v[2 * h], low);
        sum.v[2 * h + 1] = vaddw_s16(sum.v[2 * h + 1], high);
        square.v[2 * h] = vmlal_s16(square.v[2 * h], low, low);
        square.v[2 * h + 1] = vmlal_s16(square.v[2 * h + 1], high, high);
      }
    }
    int32_t all[2][kCodes];
    for (int32_t j = 0; j < 4; ++j) {
      vst1q_s32(all[0] + 4 * j, sum.v[j]);
      vst1q_s32(all[1] + 4 * j, square.v[j]);
    }
    for (int32_t j = 0; j < kCodes; ++j) {
      sums[c + j] += all[0][j];
      squares[c + j] += all[1][j];
    }
  }
  for (; c < channels; ++c)
    for (int32_t p = 0; p < places; ++p) {
      const int32_t code = x[p * stride + c];
      sums[c] += code;
      squares[c] += code * code;
    }
}

void places_s8(const NormalizeArgs& args) {
  const NormalizeGroups g = args.groups;
  const auto* const x0 = static_cast<const int8_t*>(args.x);
  auto* const y0 = static_cast<int8_t*>(args.y);
  const int32_t channels = g.groups * g.depth, n = g.places * g.depth;
  auto *const sums = static_cast<int64_t*>(args.sums), *const squares = sums + channels;
  auto* const centres = reinterpret_cast<int32_t*>(squares + channels);
  auto* const inverses = reinterpret_cast<float*>(centres + channels);
  for (int32_t c = 0; c < channels; ++c) sums[c] = squares[c] = 0;
  for (int32_t first = 0; first < g.places; first += kTile) {
    const int32_t count = g.places - first < kTile ? g.places - first : kTile;
    add_places_s8(x0 + first * g.stride, g.stride, count, channels, sums, squares);
  }
  spread_groups_s8(args, sums, squares, centres, inverses);
  const float reciprocal_scale = args.reciprocal_scale;
  bool ordinary = true;
  for (int32_t c = 0; c < channels; ++c) ordinary &= is_ordinary(inverses[c], reciprocal_scale);
  const int32_t whole = ordinary ? channels / kCodes * kCodes : 0;
  const OutputNeon output = make_output_neon(args.s8);
  for (int32_t p = 0; p < g.places; ++p) {
    const int8_t* const x = x0 + p * g.stride;
    int8_t* const y = y0 + p * g.stride;
    int32_t c = 0;
    for (; c < whole; c += kCodes) {
      const Four codes = widened(vld1q_s8(x + c));
      float32x4_t v[4];
      for (int32_t j = 0; j < 4; ++j) {
        const int32_t at = c + 4 * j;
        v[j] = normalized_neon(codes.v[j], n, vld1q_s32(centres + at), vld1q_f32(inverses + at),
                               args.scale + at, args.shift + at, reciprocal_scale);
      }
      vst1q_s8(y + c, codes_neon(v[0], v[1], v[2], v[3], output));
    }
    for (; c < channels; ++c)
      y[c] = normalized_s8(n * x[c] - centres[c], inverses[c], args.scale[c], args.shift[c], reciprocal_scale,
                           args.s8);
  }
}

}  // namespace

void normalize_groups_s8_neon(const NormalizeArgs& args) {
  if (args.groups.places != 1) return places_s8(args);
  for_normalized_rows<int8_t>(args, row_s8);
}

void normalize_groups_s16_neon(const NormalizeArgs& args) { normalize_small_rows_s16(args, row_s16); }

// On ARMv7 vectors of reals flush subnormal numbers: compilers leave them alone.
void normalize_groups_f32_neon(const NormalizeArgs& args) { normalize_all_f32(args); }

}  // namespace intaglio
