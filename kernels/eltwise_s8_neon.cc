#include "kernels/eltwise_s8_rows.h"
#include "kernels/requant_neon.h"

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

inline int32x4_t multiply_high(int16x8_t a, int16x8_t b) {
#if defined(__aarch64__)
  return vmull_high_s16(a, b);
#else
  return vmull_s16(vget_high_s16(a), vget_high_s16(b));
#endif
}
inline int32x4_t multiply_add_high(int32x4_t sum, int16x8_t a, int16x8_t b) {
#if defined(__aarch64__)
  return vmlal_high_s16(sum, a, b);
#else
  return vmlal_s16(sum, vget_high_s16(a), vget_high_s16(b));
#endif
}

// add_s8; the shift rounds by itself. `Short`: both multipliers fit int16.
template <bool Short>
inline void add_rows(const int8_t* a, const int8_t* b, int8_t* y, int32_t rows, int32_t n, const AddS8& p) {
  const int8x8_t z_a = vdup_n_s8(static_cast<int8_t>(p.a_zero_point)),
                 z_b = vdup_n_s8(static_cast<int8_t>(p.b_zero_point));
  const int32x4_t shift = vdupq_n_s32(-p.right_shift);
  const int16x8_t zero_point = vdupq_n_s16(static_cast<int16_t>(p.zero_point));
  const int8x16_t lo = vdupq_n_s8(static_cast<int8_t>(p.lo)), hi = vdupq_n_s8(static_cast<int8_t>(p.hi));
  const int16x8_t by_a = vdupq_n_s16(static_cast<int16_t>(p.a_multiplier)),
                  by_b = vdupq_n_s16(static_cast<int16_t>(p.b_multiplier));
  const int32x4_t wide_a = vdupq_n_s32(p.a_multiplier), wide_b = vdupq_n_s32(p.b_multiplier);
  const auto wide = [&](int16x4_t u, int16x4_t v) {
    return vmlaq_s32(vmulq_s32(vmovl_s16(u), wide_a), vmovl_s16(v), wide_b);
  };
  const auto eight = [&](int16x8_t u, int16x8_t v) {
    const int32x4_t low =
        Short ? vmlal_s16(vmull_s16(vget_low_s16(u), vget_low_s16(by_a)), vget_low_s16(v), vget_low_s16(by_b))
              : wide(vget_low_s16(u), vget_low_s16(v));
    const int32x4_t high =
        Short ? multiply_add_high(multiply_high(u, by_a), v, by_b) : wide(vget_high_s16(u), vget_high_s16(v));
    const int16x8_t q = vcombine_s16(vqmovn_s32(vrshlq_s32(low, shift)), vqmovn_s32(vrshlq_s32(high, shift)));
    return vqmovn_s16(vqaddq_s16(q, zero_point));
  };
  map_rows(a, b, y, rows, n, [&](int8x16_t u, int8x16_t v) {
    const int8x16_t q = vcombine_s8(eight(vsubl_s8(vget_low_s8(u), z_a), vsubl_s8(vget_low_s8(v), z_b)),
                                    eight(vsubl_s8(vget_high_s8(u), z_a), vsubl_s8(vget_high_s8(v), z_b)));
    return vminq_s8(vmaxq_s8(q, lo), hi);
  });
}

inline bool fits_short(int32_t v) { return v == static_cast<int16_t>(v); }

}  // namespace

void add_rows_s8_neon(const int8_t* a, const int8_t* b, int8_t* y, int32_t rows, int32_t n,
                      const AddS8& params) {
  const AddS8 p = params;
  fits_short(p.a_multiplier) && fits_short(p.b_multiplier) ? add_rows<true>(a, b, y, rows, n, p)
                                                           : add_rows<false>(a, b, y, rows, n, p);
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

// Four quarters of the table, sixty-four entries each: what is asked for past a quarter changes nothing.
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

}  // namespace intaglio
