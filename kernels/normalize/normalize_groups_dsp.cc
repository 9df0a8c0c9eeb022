// Cortex-M4, M7 and whatever else has the DSP extension: sums of two codes an instruction (smlad, smlald), then the conversion that
// rounds and saturates at once.
#include "kernels/arithmetic/requant_dsp.h"
#include "kernels/normalize/normalize_groups_loops.h"

namespace intaglio {

void normalize_groups_s8_dsp(const NormalizeArgs& args);
void normalize_groups_s8_scalar(const NormalizeArgs& args);
void normalize_groups_s16_dsp(const NormalizeArgs& args);
void normalize_groups_f32_dsp(const NormalizeArgs& args);
void normalize_groups_f32_scalar(const NormalizeArgs& args);

namespace {

constexpr int16x2_t kOnes = 0x00010001;

// v to the nearest integer, half to even, saturated. No NaN.
__attribute__((always_inline)) inline int32_t nearest_dsp(float v) {
#if defined(__ARM_FP)
  float rounded;
  __asm__("vcvtr.s32.f32 %0, %1" : "=t"(rounded) : "t"(v));
  int32_t q;
  memcpy(&q, &rounded, sizeof q);
  return q;
#else
  v = v > -65536.0f ? v : -65536.0f;
  return round_half_even(v < 65536.0f ? v : 65536.0f);
#endif
}

// The arguments that a loop reads.
struct Row {
  int32_t n;
  const float *scale, *shift;
  float inverse, reciprocal_scale;
};

__attribute__((always_inline)) inline int32_t normalized_dsp(const Row& row, int32_t i, int32_t difference) {
  const float scaled = static_cast<float>(difference) * row.inverse * row.scale[i];
  return nearest_dsp((scaled + row.shift[i]) * row.reciprocal_scale);
}

CentreS8 row_centre_s8(const NormalizeArgs& args, const int8_t* x, int32_t n) {
  int64_t sum = 0, square = 0;
  int32_t i = 0;
  while (i < n) {
    const int32_t end = n - i < kMaxRun ? n : i + kMaxRun;
    int32_t s = 0, q = 0;
    for (; i + 4 <= end; i += 4) {
      const uint32_t codes = load_word_dsp(x + i);
      const auto even = static_cast<int16x2_t>(even_dsp(codes)), odd = static_cast<int16x2_t>(odd_dsp(codes));
      s = __smlad(odd, kOnes, __smlad(even, kOnes, s));
      q = __smlad(odd, odd, __smlad(even, even, q));
    }
    for (; i < end; ++i) {
      s += x[i];
      q += x[i] * x[i];
    }
    sum += s;
    square += q;
  }
  return centre_s8(args, n, sum, square);
}

// n at most kSmallGroup.
CentreS16 row_centre_s16(const NormalizeArgs& args, const int16_t* x, int32_t n) {
  int32_t sum = 0, i = 0;
  int64_t square = 0;
  for (; i + 2 <= n; i += 2) {
    const auto codes = static_cast<int16x2_t>(load_word_dsp(x + i));
    sum = __smlad(codes, kOnes, sum);
    square = __smlald(codes, codes, square);
  }
  if (i < n) {
    sum += x[i];
    square += int64_t{x[i]} * x[i];
  }
  return centre_s16(args, n, sum, square);
}

void row_s8(const NormalizeArgs& args, const int8_t* x, int8_t* y, const float* scale, const float* shift) {
  const int32_t n = args.groups.depth;
  const CentreS8 of_row = row_centre_s8(args, x, n);
  if (!is_ordinary(of_row.inverse, args.reciprocal_scale))
    return normalize_rest_s8(args, of_row, x, y, scale, shift, 0);
  const Row row = {n, scale, shift, of_row.inverse, args.reciprocal_scale};
  const OutputDsp output = make_output_dsp(args.s8);
  for (int32_t i = 0; i < n; ++i) {
    int32_t q = __qadd(normalized_dsp(row, i, n * x[i] - of_row.centre), output.zero_point);
    q = q > output.lo ? q : output.lo;
    y[i] = static_cast<int8_t>(q < output.hi ? q : output.hi);
  }
}

void row_s16(const NormalizeArgs& args, const int16_t* x, int16_t* y, const float* scale,
             const float* shift) {
  const int32_t n = args.groups.depth;
  const CentreS16 of_row = row_centre_s16(args, x, n);
  const auto centre = static_cast<int32_t>(of_row.centre);
  if (!is_ordinary(of_row.inverse, args.reciprocal_scale))
    return normalize_rest_s16(args, of_row, x, y, scale, shift, 0);
  const Row row = {n, scale, shift, of_row.inverse, args.reciprocal_scale};
  const auto lo = static_cast<int32_t>(args.s16.lo), hi = static_cast<int32_t>(args.s16.hi);
  for (int32_t i = 0; i < n; ++i) {
    int32_t q = normalized_dsp(row, i, n * x[i] - centre);
    q = q > lo ? q : lo;
    y[i] = static_cast<int16_t>(q < hi ? q : hi);
  }
}

}  // namespace

// Groups over maps are rare on such machines.
void normalize_groups_s8_dsp(const NormalizeArgs& args) {
  if (args.groups.places != 1) return normalize_groups_s8_scalar(args);
  for_normalized_rows<int8_t>(args, row_s8);
}

void normalize_groups_s16_dsp(const NormalizeArgs& args) { normalize_small_rows_s16(args, row_s16); }

void normalize_groups_f32_dsp(const NormalizeArgs& args) { normalize_groups_f32_scalar(args); }

}  // namespace intaglio
