// Element by element: int8, int16 and FP32.
#include "kernels/arithmetic/output_f32_neon.h"
#include "kernels/arithmetic/requant_neon.h"
#include "kernels/eltwise/codes_s16_loops.h"
#include "kernels/eltwise/eltwise_f32.h"
#include "kernels/eltwise/eltwise_s8_rows.h"

namespace intaglio {

void add_rows_s8_neon(const int8_t* a, const int8_t* b, int8_t* y, int32_t rows, int32_t n,
                      const AddS8& params);
void add_code_s8_neon(const int8_t* a, int8_t b, int8_t* y, int32_t n, const AddS8& params);
void mul_rows_s8_neon(const int8_t* a, const int8_t* b, int8_t* y, int32_t rows, int32_t n,
                      const MulS8& params);
void mul_code_s8_neon(const int8_t* a, int8_t b, int8_t* y, int32_t n, const MulS8& params);
void lookup_s8_neon(const int8_t* x, const int8_t* table, int8_t* y, int32_t n);

namespace {

// y = function(a, b) on sixteen codes at a time.
template <typename Function>
inline void map_rows(const int8_t* a, const int8_t* b, int8_t* y, int32_t rows, int32_t n,
                     Function function) {
  const int32_t whole = n / 16 * 16;
  for (int32_t r = 0; r < rows; ++r, a += n, y += n) {
    for (int32_t i = 0; i < whole; i += 16) vst1q_s8(y + i, function(vld1q_s8(a + i), vld1q_s8(b + i)));
    if (whole == n) continue;
    int8_t codes[16] = {}, others[16] = {};
    const auto count = static_cast<size_t>(n - whole);
    memcpy(codes, a + whole, count);
    memcpy(others, b + whole, count);
    vst1q_s8(codes, function(vld1q_s8(codes), vld1q_s8(others)));
    memcpy(y + whole, codes, count);
  }
}

// The same code b for every element, by the function for rows.
template <typename Rows, typename Params>
inline void map_code(Rows* map, const int8_t* a, int8_t b, int8_t* y, int32_t n, const Params& params) {
  int8_t row[16];
  memset(row, b, sizeof row);
  const int32_t whole = n / 16 * 16;
  map(a, row, y, whole / 16, 16, params);
  map(a + whole, row, y + whole, 1, n - whole, params);
}

}  // namespace

void add_rows_s8_neon(const int8_t* a, const int8_t* b, int8_t* y, int32_t rows, int32_t n,
                      const AddS8& params) {
  const AddNeon add(params);
  AddNeon::is_short(params)
      ? map_rows(a, b, y, rows, n, [add](int8x16_t u, int8x16_t v) { return add.sum<true>(u, v); })
      : map_rows(a, b, y, rows, n, [add](int8x16_t u, int8x16_t v) { return add.sum<false>(u, v); });
}
void add_code_s8_neon(const int8_t* a, int8_t b, int8_t* y, int32_t n, const AddS8& params) {
  map_code(add_rows_s8_neon, a, b, y, n, params);
}

void mul_rows_s8_neon(const int8_t* a, const int8_t* b, int8_t* y, int32_t rows, int32_t n,
                      const MulS8& params) {
  const OutputNeon output = make_output_neon(params.output);
  const int8x8_t z_a = vdup_n_s8(static_cast<int8_t>(params.a_zero_point)),
                 z_b = vdup_n_s8(static_cast<int8_t>(params.b_zero_point));
  const float32x4_t factor = vdupq_n_f32(params.multiplier);
  map_rows(a, b, y, rows, n, [&](int8x16_t u, int8x16_t v) {
    const int16x8_t u0 = vsubl_s8(vget_low_s8(u), z_a), u1 = vsubl_s8(vget_high_s8(u), z_a);
    const int16x8_t v0 = vsubl_s8(vget_low_s8(v), z_b), v1 = vsubl_s8(vget_high_s8(v), z_b);
    return requantize_neon(
        vmull_s16(vget_low_s16(u0), vget_low_s16(v0)), vmull_s16(vget_high_s16(u0), vget_high_s16(v0)),
        vmull_s16(vget_low_s16(u1), vget_low_s16(v1)), vmull_s16(vget_high_s16(u1), vget_high_s16(v1)),
        factor, factor, factor, factor, output);
  });
}
void mul_code_s8_neon(const int8_t* a, int8_t b, int8_t* y, int32_t n, const MulS8& params) {
  map_code(mul_rows_s8_neon, a, b, y, n, params);
}

// Four quarters of the table, sixty-four entries each: an index past a quarter changes nothing.
// ARMv7 has no registers for it.
void lookup_s8_neon(const int8_t* x, const int8_t* table, int8_t* y, int32_t n) {
  int32_t i = 0;
#if defined(__aarch64__)
  if (n >= 64) {
    const auto* const t = reinterpret_cast<const uint8_t*>(table);
    const uint8x16x4_t quarters[4] = {vld1q_u8_x4(t), vld1q_u8_x4(t + 64), vld1q_u8_x4(t + 128),
                                      vld1q_u8_x4(t + 192)};
    for (; i + 16 <= n; i += 16) {
      const uint8x16_t at = veorq_u8(vreinterpretq_u8_s8(vld1q_s8(x + i)), vdupq_n_u8(128));
      uint8x16_t q = vqtbl4q_u8(quarters[0], at);
      q = vqtbx4q_u8(q, quarters[1], vsubq_u8(at, vdupq_n_u8(64)));
      q = vqtbx4q_u8(q, quarters[2], vsubq_u8(at, vdupq_n_u8(128)));
      q = vqtbx4q_u8(q, quarters[3], vsubq_u8(at, vdupq_n_u8(192)));
      vst1q_u8(reinterpret_cast<uint8_t*>(y + i), q);
    }
  }
#endif
  map_lookup_s8(x + i, table, y + i, n - i);
}

ITG_CODES_S16_FUNCTIONS(neon, lookup_codes_s16)

// AArch64: four elements in a vector, what is left of a row one by one. ARMv7's vectors flush subnormals: the
// scalar kernel serves there.

RowsF32 add_rows_f32_neon, mul_rows_f32_neon, prelu_rows_f32_neon;

#if defined(__aarch64__)

namespace {

// Each vector is read before it is written: y may be a.
template <typename Combine>
__attribute__((noinline)) void combine_neon(const float* a, const float* b, float* y, int32_t rows, int32_t n,
                                            const ClampF32& clamp, Combine combine) {
  const FinishF32 finish(clamp);
  const int32_t whole = n / 4 * 4;
  for (int32_t r = 0; r < rows; ++r, a += n, y += n) {
#pragma GCC unroll 4
    for (int32_t i = 0; i < whole; i += 4)
      vst1q_f32(y + i, finish(combine(vld1q_f32(a + i), vld1q_f32(b + i))));
    for (int32_t i = whole; i < n; ++i) y[i] = finish_f32(combine(a[i], b[i]), clamp);
  }
}

struct Prelu {
  float32x4_t operator()(float32x4_t p, float32x4_t q) const {
    return vbslq_f32(vcgtzq_f32(p), p, vmulq_f32(p, q));
  }
  float operator()(float p, float q) const { return p > 0.0f ? p : p * q; }
};

}  // namespace

void add_rows_f32_neon(const float* a, const float* b, float* y, int32_t rows, int32_t n,
                       const ClampF32& clamp) {
  const DefaultNan mode;
  combine_neon(a, b, y, rows, n, clamp, [](auto p, auto q) { return p + q; });
}

void mul_rows_f32_neon(const float* a, const float* b, float* y, int32_t rows, int32_t n,
                       const ClampF32& clamp) {
  const DefaultNan mode;
  combine_neon(a, b, y, rows, n, clamp, [](auto p, auto q) { return p * q; });
}

void prelu_rows_f32_neon(const float* a, const float* b, float* y, int32_t rows, int32_t n,
                         const ClampF32& clamp) {
  const DefaultNan mode;
  combine_neon(a, b, y, rows, n, clamp, Prelu());
}

#else

RowsF32 add_rows_f32_scalar, mul_rows_f32_scalar, prelu_rows_f32_scalar;

void add_rows_f32_neon(const float* a, const float* b, float* y, int32_t rows, int32_t n,
                       const ClampF32& clamp) {
  add_rows_f32_scalar(a, b, y, rows, n, clamp);
}

void mul_rows_f32_neon(const float* a, const float* b, float* y, int32_t rows, int32_t n,
                       const ClampF32& clamp) {
  mul_rows_f32_scalar(a, b, y, rows, n, clamp);
}

void prelu_rows_f32_neon(const float* a, const float* b, float* y, int32_t rows, int32_t n,
                         const ClampF32& clamp) {
  prelu_rows_f32_scalar(a, b, y, rows, n, clamp);
}

#endif

}  // namespace intaglio
