// Cortex-M with Helium: sums of a whole vector an instruction, then four elements a step.
#include "kernels/arithmetic/requant_helium.h"
#include "kernels/normalize/normalize_groups_loops.h"

namespace intaglio {

void normalize_groups_s8_helium(const NormalizeArgs& args);
void normalize_groups_s16_helium(const NormalizeArgs& args);
void normalize_groups_f32_helium(const NormalizeArgs& args);
void normalize_groups_f32_scalar(const NormalizeArgs& args);

namespace {

constexpr int32_t kLanes = 4;

inline mve_pred16_t lanes_there(int32_t left) { return vctp32q(static_cast<uint32_t>(left)); }

CentreS8 row_centre_s8(const NormalizeArgs& args, const int8_t* x, int32_t n) {
  int64_t sum = 0, square = 0;
  for (int32_t first = 0; first < n; first += kMaxRun) {
    const int32_t end = n - first < kMaxRun ? n : first + kMaxRun;
    int32_t s = 0, q = 0;
    for (int32_t i = first; i < end; i += 16) {
      const mve_pred16_t there = vctp8q(static_cast<uint32_t>(end - i));
      const int8x16_t codes = vldrbq_z_s8(x + i, there);  // zeros elsewhere
      s = vaddvaq_s8(s, codes);
      q = vmladavaq_s8(q, codes, codes);
    }
    sum += s;
    square += q;
  }
  return centre_s8(args, n, sum, square);
}

// n at most kSmallGroup.
CentreS16 row_centre_s16(const NormalizeArgs& args, const int16_t* x, int32_t n) {
  int32_t sum = 0;
  int64_t square = 0;
  for (int32_t i = 0; i < n; i += 8) {
    const mve_pred16_t there = vctp16q(static_cast<uint32_t>(n - i));
    const int16x8_t codes = vldrhq_z_s16(x + i, there);
    sum = vaddvaq_s16(sum, codes);
    square = vmlaldavaq_s16(square, codes, codes);
  }
  return centre_s16(args, n, sum, square);
}

// Four elements: n * code - centre, and the rest of the formula. No predicate: lanes that are not there hold zeros.
inline float32x4_t scaled_helium(int32x4_t codes, int32_t n, int32x4_t centre, float32x4_t inverse) {
  return vmulq_f32(vcvtq_f32_s32(vsubq_s32(vmulq_n_s32(codes, n), centre)), inverse);
}
inline float32x4_t normalized_helium(float32x4_t scaled, const NormalizeArgs& args, const float* scale,
                                     const float* shift, mve_pred16_t there) {
  const float32x4_t v = vaddq_f32(vmulq_f32(scaled, vld1q_z_f32(scale, there)), vld1q_z_f32(shift, there));
  return vmulq_n_f32(v, args.reciprocal_scale);
}

void row_s8(const NormalizeArgs& args, const int8_t* x, int8_t* y, const float* scale, const float* shift) {
  const int32_t n = args.groups.depth;
  const CentreS8 of_row = row_centre_s8(args, x, n);
  if (!is_ordinary(of_row.inverse, args.reciprocal_scale))
    return normalize_rest_s8(args, of_row, x, y, scale, shift, 0);
  const int32x4_t centre = vdupq_n_s32(of_row.centre);
  const float32x4_t inverse = vdupq_n_f32(of_row.inverse);
  const OutputHelium output = make_output_helium(args.s8);
  for (int32_t i = 0; i < n; i += kLanes) {
    const mve_pred16_t there = lanes_there(n - i);
    const float32x4_t v = scaled_helium(vldrbq_z_s32(x + i, there), n, centre, inverse);
    vstrbq_p_s32(y + i, round_helium(normalized_helium(v, args, scale + i, shift + i, there), output), there);
  }
}

void row_s16(const NormalizeArgs& args, const int16_t* x, int16_t* y, const float* scale,
             const float* shift) {
  const int32_t n = args.groups.depth;
  const CentreS16 of_row = row_centre_s16(args, x, n);
  const auto offset = static_cast<int32_t>(of_row.centre);
  if (!is_ordinary(of_row.inverse, args.reciprocal_scale))
    return normalize_rest_s16(args, of_row, x, y, scale, shift, 0);
  const int32x4_t centre = vdupq_n_s32(offset);
  const float32x4_t inverse = vdupq_n_f32(of_row.inverse);
  const int32x4_t lo = vdupq_n_s32(static_cast<int32_t>(args.s16.lo)),
                  hi = vdupq_n_s32(static_cast<int32_t>(args.s16.hi));
  for (int32_t i = 0; i < n; i += kLanes) {
    const mve_pred16_t there = lanes_there(n - i);
    const float32x4_t v = scaled_helium(vldrhq_z_s32(x + i, there), n, centre, inverse);
    const int32x4_t q = vcvtnq_s32_f32(normalized_helium(v, args, scale + i, shift + i, there));
    vstrhq_p_s32(y + i, vminq_s32(vmaxq_s32(q, lo), hi), there);
  }
}

// Adds up each channel of some places, kMaxRun at most.
void add_places_s8(const int8_t* x, ptrdiff_t stride, int32_t places, int32_t channels, int64_t* sums,
                   int64_t* squares) {
  for (int32_t c = 0; c < channels; c += kLanes) {
    const mve_pred16_t there = lanes_there(channels - c);
    int32x4_t sum = vdupq_n_s32(0), square = vdupq_n_s32(0);
    for (int32_t p = 0; p < places; ++p) {
      const int32x4_t codes = vldrbq_z_s32(x + p * stride + c, there);
      sum = vaddq_s32(sum, codes);
      square = vaddq_s32(square, vmulq_s32(codes, codes));
    }
    int32_t all[2][kLanes];
    vst1q_s32(all[0], sum);
    vst1q_s32(all[1], square);
    for (int32_t j = 0; j < kLanes && c + j < channels; ++j) {
      sums[c + j] += all[0][j];
      squares[c + j] += all[1][j];
    }
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
  for (int32_t first = 0; first < g.places; first += kMaxRun) {
    const int32_t count = g.places - first < kMaxRun ? g.places - first : kMaxRun;
    add_places_s8(x0 + first * g.stride, g.stride, count, channels, sums, squares);
  }
  spread_groups_s8(args, sums, squares, centres, inverses);
  bool ordinary = true;
  for (int32_t c = 0; c < channels; ++c) ordinary &= is_ordinary(inverses[c], args.reciprocal_scale);
  const OutputHelium output = make_output_helium(args.s8);
  for (int32_t p = 0; p < g.places; ++p) {
    const int8_t* const x = x0 + p * g.stride;
    int8_t* const y = y0 + p * g.stride;
    if (ordinary) {
      for (int32_t c = 0; c < channels; c += kLanes) {
        const mve_pred16_t there = lanes_there(channels - c);
        const float32x4_t v = scaled_helium(vldrbq_z_s32(x + c, there), n, vld1q_z_s32(centres + c, there),
                                            vld1q_z_f32(inverses + c, there));
        const float32x4_t w = normalized_helium(v, args, args.scale + c, args.shift + c, there);
        vstrbq_p_s32(y + c, round_helium(w, output), there);
      }
    } else {
      for (int32_t c = 0; c < channels; ++c)
        y[c] = normalized_s8(n * x[c] - centres[c], inverses[c], args.scale[c], args.shift[c],
                             args.reciprocal_scale, args.s8);
    }
  }
}

}  // namespace

void normalize_groups_s8_helium(const NormalizeArgs& args) {
  if (args.groups.places != 1) return places_s8(args);
  for_normalized_rows<int8_t>(args, row_s8);
}

void normalize_groups_s16_helium(const NormalizeArgs& args) { normalize_small_rows_s16(args, row_s16); }

// Vectors flush subnormal numbers.
void normalize_groups_f32_helium(const NormalizeArgs& args) { normalize_groups_f32_scalar(args); }

}  // namespace intaglio
