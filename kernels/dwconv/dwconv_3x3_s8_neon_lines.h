// dwconv_3x3_s8 on NEON: what sixteen channels' columns share. dwconv_3x3_s8_<isa>.cc says how codes are held
// and multiplied.
#pragma once

#include "kernels/arithmetic/requant_neon.h"
#include "kernels/dwconv/dwconv_3x3_s8_lines.h"

namespace intaglio {
namespace {

struct Sixteen {
  using Codes = int8x16_t;
  struct Part {
    ptrdiff_t upper;  // where the upper eight channels are: a block of eight to sixteen
    bool whole;
  };
  struct Limits {
    OutputNeon output;
  };
  using Sum = int32x4_t;
  static constexpr int32_t kWidth = 16, kSums = 4;

  static Part part(int32_t count) { return {count - 8, count == 16}; }
  static Limits limits(const OutputS8& requant, int32_t, int32_t) { return {make_output_neon(requant)}; }
  __attribute__((always_inline)) static inline void load(Codes* rows, const void* const* lines,
                                                         const Part& part) {
    if (__builtin_expect(part.whole, 1)) {
#pragma GCC unroll 4
      for (int32_t i = 0; i < 4; ++i) rows[i] = vld1q_s8(static_cast<const int8_t*>(lines[i]));
    } else {
#pragma GCC unroll 4
      for (int32_t i = 0; i < 4; ++i) {
        const auto* const from = static_cast<const int8_t*>(lines[i]);
        rows[i] = vcombine_s8(vld1_s8(from), vld1_s8(from + part.upper));
      }
    }
  }
  static Sum bias(const int8_t* head, int32_t v) {
    return vld1q_s32(reinterpret_cast<const int32_t*>(head) + 4 * v);
  }
  __attribute__((always_inline)) static inline Codes narrow(Sum* acc, const int8_t* multiplier,
                                                            const Limits& limits, bool) {
    const auto* const m = reinterpret_cast<const float*>(multiplier);
    return requantize_neon(acc[0], acc[1], acc[2], acc[3], vld1q_f32(m), vld1q_f32(m + 4), vld1q_f32(m + 8),
                           vld1q_f32(m + 12), limits.output);
  }
  static void store(int8_t* to, Codes codes, const Part& part) {
    if (__builtin_expect(part.whole, 1)) return vst1q_s8(to, codes);
    vst1_s8(to, vget_low_s8(codes));
    vst1_s8(to + part.upper, vget_high_s8(codes));
  }
};

}  // namespace
}  // namespace intaglio
