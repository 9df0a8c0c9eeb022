// The loops of normalize_groups.h for codes of 16 bits, for the file of each instruction set.
#pragma once

#include "kernels/normalize/normalize_groups_loops.h"

namespace intaglio {

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
  const float root = sqrt_f32(nearest_difference(n, squares, rest) + args.epsilon);
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
