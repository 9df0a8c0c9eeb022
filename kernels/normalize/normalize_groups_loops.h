// The loops of normalize_groups.h, for the file of each instruction set: compilers vectorise them. What is written goes by way of a
// block, as y may be x.
#pragma once

#include "kernels/arithmetic/functions_f32.h"
#include "kernels/normalize/normalize_groups.h"

namespace intaglio {

inline constexpr int32_t kNormalizeBlock = 64;
inline constexpr int32_t kMaxRun = 1 << 16;  // codes whose squares sum to 32 bits

// To the nearest float, halves to even, for v below 2^63.
static inline float nearest_f32(uint64_t v) {
  int32_t shift = 0;
  uint64_t lost = 0;
  for (; v >> 30 != 0; ++shift) {  // what is lost decides a tie: it stays as the last bit
    lost |= v & 1;
    v >>= 1;
  }
  float power = 1.0f;
  for (; shift > 0; --shift) power *= 2.0f;
  return static_cast<float>(static_cast<int32_t>(v | lost)) * power;
}

// The subtrahend and the factor.
struct CentreS8 {
  int32_t centre;
  float inverse;
};

// From the sums of a group of n elements and of their squares. Called once a group: not inline, for it is long.
__attribute__((noinline)) static CentreS8 centre_s8(const NormalizeArgs& args, int64_t n, int64_t sum,
                                                    int64_t squares) {
  CentreS8 result;
  int64_t q;
  if (args.groups.keeps_mean) {
    const int64_t z = args.zero_point;
    result.centre = static_cast<int32_t>(n * z);
    q = n * (squares - 2 * z * sum + n * z * z);
  } else {
    result.centre = static_cast<int32_t>(sum);
    q = n * squares - sum * sum;
  }
  const float root = sqrt_f32(nearest_f32(static_cast<uint64_t>(q)) + args.epsilon) + args.root_epsilon;
  result.inverse = root == 0.0f ? 0.0f : 1.0f / root;
  return result;
}

// Whether vectors that flush subnormal numbers, or take NaN otherwise, give the same codes: then no product that counts is
// subnormal, and none is infinite or NaN. What else there is, is no network's.
static inline bool is_ordinary(float inverse, float reciprocal_scale) {
  return (inverse >= 0x1p-60f || inverse == 0.0f) && inverse <= 0x1p76f && reciprocal_scale <= 0x1p90f &&
         reciprocal_scale >= 0x1p-90f;
}

static inline int8_t normalized_s8(int32_t difference, float inverse, float scale, float shift,
                                   float reciprocal_scale, const OutputS8& output) {
  const float scaled = static_cast<float>(difference) * inverse * scale;
  return clamp_and_round_s8((scaled + shift) * reciprocal_scale, output);
}

// The elements of a row behind the first i.
static inline void normalize_rest_s8(const NormalizeArgs& args, const CentreS8& of_row, const int8_t* x,
                                     int8_t* y, const float* scale, const float* shift, int32_t i) {
  const int32_t n = args.groups.depth;
  for (; i < n; ++i)
    y[i] = normalized_s8(n * x[i] - of_row.centre, of_row.inverse, scale[i], shift[i], args.reciprocal_scale,
                         args.s8);
}

// Calls row(args, x, y, scale, shift) for each group of one place.
template <typename T, typename Row>
static inline void for_normalized_rows(const NormalizeArgs& args, Row row) {
  for (int32_t g = 0; g < args.groups.groups; ++g) {
    const ptrdiff_t first = static_cast<ptrdiff_t>(g) * args.groups.depth;
    row(args, static_cast<const T*>(args.x) + first, static_cast<T*>(args.y) + first, args.scale + first,
        args.shift + first);
  }
}

static inline void normalize_row_s8(const NormalizeArgs& args, const int8_t* x, int8_t* y, const float* scale,
                                    const float* shift) {
  const int32_t n = args.groups.depth;
  int64_t sum = 0, squares = 0;
  for (int32_t first = 0; first < n; first += kMaxRun) {
    const int32_t end = n - first < kMaxRun ? n : first + kMaxRun;
    int32_t s = 0, q = 0;
    for (int32_t i = first; i < end; ++i) {
      s += x[i];
      q += x[i] * x[i];
    }
    sum += s;
    squares += q;
  }
  const CentreS8 of_row = centre_s8(args, n, sum, squares);
  const int32_t centre = of_row.centre;
  const float inverse = of_row.inverse, reciprocal_scale = args.reciprocal_scale;
  const OutputS8 output = args.s8;
  int32_t i = 0;
  for (; i + kNormalizeBlock <= n; i += kNormalizeBlock) {
    int8_t block[kNormalizeBlock];
    for (int32_t j = 0; j < kNormalizeBlock; ++j)
      block[j] =
          normalized_s8(n * x[i + j] - centre, inverse, scale[i + j], shift[i + j], reciprocal_scale, output);
    memcpy(y + i, block, sizeof block);
  }
  for (; i < n; ++i)
    y[i] = normalized_s8(n * x[i] - centre, inverse, scale[i], shift[i], reciprocal_scale, output);
}

// The subtrahend and the factor of each channel, from the sums of each.
static inline void spread_groups_s8(const NormalizeArgs& args, const int64_t* sums, const int64_t* squares,
                                    int32_t* centres, float* inverses) {
  const NormalizeGroups g = args.groups;
  const int32_t channels = g.groups * g.depth;
  for (int32_t first = 0; first < channels; first += g.depth) {
    int64_t sum = 0, square = 0;
    for (int32_t c = first; c < first + g.depth; ++c) {
      sum += sums[c];
      square += squares[c];
    }
    const CentreS8 of_group = centre_s8(args, int64_t{g.places} * g.depth, sum, square);
    for (int32_t c = first; c < first + g.depth; ++c) {
      centres[c] = of_group.centre;
      inverses[c] = of_group.inverse;
    }
  }
}

static inline void normalize_places_s8(const NormalizeArgs& args) {
  const NormalizeGroups g = args.groups;
  const auto* const x0 = static_cast<const int8_t*>(args.x);
  auto* const y0 = static_cast<int8_t*>(args.y);
  const int32_t channels = g.groups * g.depth, n = g.places * g.depth;
  auto *const sums = static_cast<int64_t*>(args.sums), *const squares = sums + channels;
  auto *const part_sums = reinterpret_cast<int32_t*>(squares + channels), *const part_squares =
                                                                              part_sums + channels;
  int32_t* const centres = part_squares + channels;
  auto* const inverses = reinterpret_cast<float*>(centres + channels);
  for (int32_t c = 0; c < channels; ++c) sums[c] = squares[c] = 0;
  for (int32_t first = 0; first < g.places; first += kMaxRun) {
    const int32_t end = g.places - first < kMaxRun ? g.places : first + kMaxRun;
    for (int32_t c = 0; c < channels; ++c) part_sums[c] = part_squares[c] = 0;
    for (int32_t p = first; p < end; ++p) {
      const int8_t* const x = x0 + p * g.stride;
      for (int32_t c = 0; c < channels; ++c) {
        part_sums[c] += x[c];
        part_squares[c] += x[c] * x[c];
      }
    }
    for (int32_t c = 0; c < channels; ++c) {
      sums[c] += part_sums[c];
      squares[c] += part_squares[c];
    }
  }
  spread_groups_s8(args, sums, squares, centres, inverses);
  const OutputS8 output = args.s8;
  const float reciprocal_scale = args.reciprocal_scale;
  const float *const scale = args.scale, *const shift = args.shift;
  for (int32_t p = 0; p < g.places; ++p) {
    const int8_t* const x = x0 + p * g.stride;
    int8_t* const y = y0 + p * g.stride;
    int32_t c = 0;
    for (; c + kNormalizeBlock <= channels; c += kNormalizeBlock) {
      int8_t block[kNormalizeBlock];
      for (int32_t j = 0; j < kNormalizeBlock; ++j)
        block[j] = normalized_s8(n * x[c + j] - centres[c + j], inverses[c + j], scale[c + j], shift[c + j],
                                 reciprocal_scale, output);
      memcpy(y + c, block, sizeof block);
    }
    for (; c < channels; ++c)
      y[c] = normalized_s8(n * x[c] - centres[c], inverses[c], scale[c], shift[c], reciprocal_scale, output);
  }
}

static inline void normalize_all_s8(const NormalizeArgs& args) {
  if (args.groups.places != 1) return normalize_places_s8(args);
  for_normalized_rows<int8_t>(args, normalize_row_s8);
}

// ---- f32

// The sum of x[c], or with kSquares of the square of x[c] - centre, c below depth, in the order of the contract. Not in line: several
// sums share its text.
template <bool kSquares>
__attribute__((noinline)) static float sum_in_lanes(const float* x, int32_t depth, int32_t block,
                                                    float centre) {
  constexpr int32_t kLanes = 16;
  const auto value = [=](int32_t c) {
    const float v = kSquares ? x[c] - centre : x[c];
    return kSquares ? v * v : v;
  };
  float lanes[kLanes], levels[kSumLevels * kLanes];
  int32_t blocks = 0;
  for (int32_t c = 0;;) {
    const int32_t rest = depth - c, end = rest / kLanes < block ? depth : c + block * kLanes;
    float sums[kLanes] = {};
    for (; c + kLanes <= end; c += kLanes)
      for (int32_t j = 0; j < kLanes; ++j) sums[j] += value(c + j);
    for (int32_t j = 0; c < end; ++c, ++j) sums[j] += value(c);
    memcpy(lanes, sums, sizeof lanes);
    if (c == depth) break;
    add_block(++blocks, lanes, levels, kLanes);
  }
  add_levels(blocks, lanes, levels, kLanes);
  for (int32_t half = kLanes / 2; half > 0; half /= 2)
    for (int32_t j = 0; j < half; ++j) lanes[j] += lanes[j + half];
  return lanes[0];
}

static inline float square_f32(float v) { return v * v; }

static inline float normalized_f32(float difference, float inverse, float scale, float shift) {
  const float scaled = difference * inverse * scale;
  return canonical_f32(scaled + shift);
}

static inline void normalize_row_f32(const NormalizeArgs& args, const float* x, float* y, const float* scale,
                                     const float* shift) {
  const int32_t depth = args.groups.depth, terms = args.block;
  const auto n = static_cast<float>(depth);
  const float mean = args.groups.keeps_mean ? 0.0f : sum_in_lanes<false>(x, depth, terms, 0.0f) / n;
  const float power = sum_in_lanes<true>(x, depth, terms, mean);
  const float inverse = 1.0f / (sqrt_f32(power / n + args.epsilon) + args.root_epsilon);
  int32_t i = 0;
  for (; i + kNormalizeBlock <= depth; i += kNormalizeBlock) {
    float block[kNormalizeBlock];
    for (int32_t j = 0; j < kNormalizeBlock; ++j)
      block[j] = normalized_f32(x[i + j] - mean, inverse, scale[i + j], shift[i + j]);
    memcpy(y + i, block, sizeof block);
  }
  for (; i < depth; ++i) y[i] = normalized_f32(x[i] - mean, inverse, scale[i], shift[i]);
}

static inline void normalize_places_f32(const NormalizeArgs& args) {
  const NormalizeGroups g = args.groups;
  const auto* const x0 = static_cast<const float*>(args.x);
  auto* const y0 = static_cast<float*>(args.y);
  const int32_t channels = g.groups * g.depth, terms = args.block;
  const auto n = static_cast<float>(g.places * g.depth);
  auto *const sums = static_cast<float*>(args.sums), *const means = sums + channels,
              *const inverses = means + channels, *const levels = inverses + channels;
  const float *const scale = args.scale, *const shift = args.shift;
  // Calls give(c, sum of the group / n) for each channel.
  const auto average = [&](auto value, auto give) {
    for (int32_t c = 0; c < channels; ++c) sums[c] = 0.0f;
    int32_t blocks = 0;
    for (int32_t p = 0; p < g.places;) {
      if (p > 0) add_block(++blocks, sums, levels, channels);
      for (const int32_t end = g.places - p < terms ? g.places : p + terms; p < end; ++p)
        for (int32_t c = 0; c < channels; ++c) sums[c] += value(x0[p * g.stride + c], c);
    }
    add_levels(blocks, sums, levels, channels);
    for (int32_t first = 0; first < channels; first += g.depth) {
      const float mean = sum_in_lanes<false>(sums + first, g.depth, terms, 0.0f) / n;
      for (int32_t c = first; c < first + g.depth; ++c) give(c, mean);
    }
  };
  for (int32_t c = 0; c < channels; ++c) means[c] = 0.0f;
  if (!g.keeps_mean)
    average([](float v, int32_t) { return v; }, [=](int32_t c, float mean) { means[c] = mean; });
  const float epsilon = args.epsilon, root_epsilon = args.root_epsilon;
  average([=](float v, int32_t c) { return square_f32(v - means[c]); },
          [=](int32_t c, float power) { inverses[c] = 1.0f / (sqrt_f32(power + epsilon) + root_epsilon); });
  for (int32_t p = 0; p < g.places; ++p) {
    const float* const x = x0 + p * g.stride;
    float* const y = y0 + p * g.stride;
    for (int32_t c = 0; c < channels; ++c)
      y[c] = normalized_f32(x[c] - means[c], inverses[c], scale[c], shift[c]);
  }
}

static inline void normalize_all_f32(const NormalizeArgs& args) {
  if (args.groups.places != 1) return normalize_places_f32(args);
  for (int32_t g = 0; g < args.groups.groups; ++g) {
    const ptrdiff_t first = static_cast<ptrdiff_t>(g) * args.groups.depth;
    normalize_row_f32(args, static_cast<const float*>(args.x) + first, static_cast<float*>(args.y) + first,
                      args.scale + first, args.shift + first);
  }
}

// The loops of normalize_groups.h for codes of 16 bits, for the file of each instruction set.

void normalize_groups_s16_scalar(const NormalizeArgs& args);

inline constexpr int32_t kSmallGroup = 1 << 15;  // elements: n * x - S fits int32

// The subtrahend and the factor.
struct CentreS16 {
  int64_t centre;
  float inverse;
};

// n * a - b * b to the nearest float, for 0 <= b < n, or b = 0; a below 2^55, n at most 2^23.
static inline float nearest_difference(int64_t n, int64_t a, int64_t b) {
  constexpr int64_t kLow = 0xffffffff;
  const int64_t high = n * (a >> 32), low = n * (a & kLow) - b * b;
  if (high < int64_t{1} << 29) return nearest_f32(static_cast<uint64_t>(high * (kLow + 1) + low));
  const int64_t top = high + (low >> 32), lost = (low & kLow) != 0 ? 1 : 0;  // what is lost decides a tie
  return nearest_f32(static_cast<uint64_t>(top | lost)) * 4294967296.0f;
}

// From the sums of a group of n elements and of their squares.
static inline CentreS16 centre_s16(const NormalizeArgs& args, int64_t n, int64_t sum, int64_t squares) {
  CentreS16 result = {0, 0.0f};
  int64_t rest = 0;
  if (!args.groups.keeps_mean) {
    // About a whole number near the mean the sums are small, and Q is the same.
    result.centre = sum;
    const int64_t near = (sum - (sum < 0 ? n - 1 : 0)) / n;
    squares -= near * (2 * sum - n * near);
    rest = sum - n * near;
  }
  const float root = sqrt_f32(nearest_difference(n, squares, rest) + args.epsilon) + args.root_epsilon;
  result.inverse = root == 0.0f ? 0.0f : 1.0f / root;
  return result;
}

static inline int16_t normalized_s16(float difference, float inverse, float scale, float shift,
                                     float reciprocal_scale, const OutputS16& output) {
  const float scaled = difference * inverse * scale;
  return clamp_and_round_s16((scaled + shift) * reciprocal_scale, output);
}

// The elements behind the first i, of a row of at most kSmallGroup.
static inline void normalize_rest_s16(const NormalizeArgs& args, const CentreS16& of_row, const int16_t* x,
                                      int16_t* y, const float* scale, const float* shift, int32_t i) {
  const int32_t n = args.groups.depth, centre = static_cast<int32_t>(of_row.centre);
  for (; i < n; ++i)
    y[i] = normalized_s16(static_cast<float>(n * x[i] - centre), of_row.inverse, scale[i], shift[i],
                          args.reciprocal_scale, args.s16);
}

// kSmall: all elements are at most kSmallGroup.
template <bool kSmall>
static inline void normalize_row_s16(const NormalizeArgs& args, const int16_t* x, int16_t* y,
                                     const float* scale, const float* shift) {
  const int32_t n = args.groups.depth;
  int64_t sum = 0, squares = 0;
  for (int32_t i = 0; i < n; ++i) {
    sum += x[i];
    squares += int64_t{x[i]} * x[i];
  }
  const CentreS16 of_row = centre_s16(args, n, sum, squares);
  const float inverse = of_row.inverse, reciprocal_scale = args.reciprocal_scale;
  const OutputS16 output = args.s16;
  const auto difference = [n, of_row](int16_t code) {
    if (kSmall) return static_cast<float>(n * code - static_cast<int32_t>(of_row.centre));
    return static_cast<float>(int64_t{n} * code - of_row.centre);
  };
  int32_t i = 0;
  if (kSmall)
    for (; i + kNormalizeBlock <= n; i += kNormalizeBlock) {
      int16_t block[kNormalizeBlock];
      for (int32_t j = 0; j < kNormalizeBlock; ++j)
        block[j] = normalized_s16(difference(x[i + j]), inverse, scale[i + j], shift[i + j], reciprocal_scale,
                                  output);
      memcpy(y + i, block, sizeof block);
    }
  for (; i < n; ++i)
    y[i] = normalized_s16(difference(x[i]), inverse, scale[i], shift[i], reciprocal_scale, output);
}

// By row(args, x, y, scale, shift) where differences fit 32 bits. Elsewhere, which is rare, the scalar kernel.
template <typename Row>
static inline void normalize_small_rows_s16(const NormalizeArgs& args, Row row) {
  if (args.groups.places != 1 || args.groups.depth > kSmallGroup) return normalize_groups_s16_scalar(args);
  for_normalized_rows<int16_t>(args, row);
}

static inline void normalize_places_s16(const NormalizeArgs& args) {
  const NormalizeGroups g = args.groups;
  const auto* const x0 = static_cast<const int16_t*>(args.x);
  auto* const y0 = static_cast<int16_t*>(args.y);
  const int32_t channels = g.groups * g.depth, n = g.places * g.depth;
  auto *const sums = static_cast<int64_t*>(args.sums), *const squares = sums + channels;
  auto* const inverses = reinterpret_cast<float*>(squares + channels);
  for (int32_t c = 0; c < channels; ++c) sums[c] = squares[c] = 0;
  for (int32_t p = 0; p < g.places; ++p) {
    const int16_t* const x = x0 + p * g.stride;
    for (int32_t c = 0; c < channels; ++c) {
      sums[c] += x[c];
      squares[c] += int64_t{x[c]} * x[c];
    }
  }
  for (int32_t first = 0; first < channels; first += g.depth) {
    int64_t sum = 0, square = 0;
    for (int32_t c = first; c < first + g.depth; ++c) {
      sum += sums[c];
      square += squares[c];
    }
    const CentreS16 of_group = centre_s16(args, n, sum, square);
    for (int32_t c = first; c < first + g.depth; ++c) {
      sums[c] = of_group.centre;
      inverses[c] = of_group.inverse;
    }
  }
  const OutputS16 output = args.s16;
  for (int32_t p = 0; p < g.places; ++p) {
    const int16_t* const x = x0 + p * g.stride;
    int16_t* const y = y0 + p * g.stride;
    for (int32_t c = 0; c < channels; ++c)
      y[c] = normalized_s16(static_cast<float>(int64_t{n} * x[c] - sums[c]), inverses[c], args.scale[c],
                            args.shift[c], args.reciprocal_scale, output);
  }
}

}  // namespace intaglio
