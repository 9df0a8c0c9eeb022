// Single instructions for loops whose order is the source's, for cores that issue in order (benchmarks/instruction_count/in_order_cores.py
// says what is known of them). A load of 128 bits blocks such a core for two cycles. So a vector is loaded as 64 bits (ldr d), 64
// bits to a general register (ldr x) and their insertion (ins), each of which issues together with a multiplication. Volatile:
// the compiler keeps their order.
#pragma once

#include "kernels/gemm/gemm_s8_neon_row.h"

#if defined(__aarch64__)

namespace intaglio {
namespace {

// Eight codes to the lower half, zeros above.
template <int32_t Offset = 0>
inline void load_low(const int8_t* from, int8x16_t* v) {
  __asm__ volatile("ldr %d0, [%1, %2]"
                   : "=w"(*v)
                   : "r"(from), "i"(Offset), "m"(*reinterpret_cast<const int8_t(*)[kAnyBytes]>(from)));
}
inline void load_low_at(const int8_t* from, ptrdiff_t at, int8x16_t* v) {
  __asm__ volatile("ldr %d0, [%1, %2]"
                   : "=w"(*v)
                   : "r"(from), "r"(at), "m"(*reinterpret_cast<const int8_t(*)[kAnyBytes]>(from)));
}
template <int32_t Offset>
inline void load_word(const int8_t* from, uint64_t* word) {
  __asm__ volatile("ldr %0, [%1, %2]"
                   : "=r"(*word)
                   : "r"(from), "i"(Offset), "m"(*reinterpret_cast<const int8_t(*)[kAnyBytes]>(from)));
}
// The lower half of a vector whose upper half comes next.
inline void insert_low(uint64_t word, int8x16_t* v) {
  __asm__ volatile("ins %0.d[0], %1" : "=w"(*v) : "r"(word));
}
inline void insert_high(uint64_t word, int8x16_t* v) {
  __asm__ volatile("ins %0.d[1], %1" : "+w"(*v) : "r"(word));
}
inline void copy_sums(int32x4_t from, int32x4_t* to) {
  __asm__ volatile("mov %0.16b, %1.16b" : "=w"(*to) : "w"(from));
}
template <int32_t Bytes>
inline void move_on(const int8_t** from) {
  __asm__ volatile("add %0, %0, %1" : "+r"(*from) : "i"(Bytes));
}
// The distance behind *at, which moves on to it.
inline void next_distance(const ptrdiff_t** at, ptrdiff_t* distance) {
  __asm__ volatile("ldr %0, [%1, 8]!"
                   : "=r"(*distance), "+r"(*at)
                   : "m"(*reinterpret_cast<const int8_t(*)[kAnyBytes]>(*at)));
}

// requantize_wide_neon() of `Rows` rows of eight columns, one step of all of them after the other: each takes four cycles.
template <int32_t Rows>
__attribute__((always_inline)) inline TileCodes<Rows / 2> requantize_in_order(int32x4_t (*acc)[2],
                                                                              const int8x16_t* multipliers,
                                                                              const OutputNeon& output) {
  const int16x8_t zero_point = output.zero_point;
#pragma GCC unroll 16
  for (int32_t i = 0; i < 2 * Rows; ++i) __asm__ volatile("scvtf %0.4s, %0.4s" : "+w"(acc[i / 2][i % 2]));
#pragma GCC unroll 16
  for (int32_t i = 0; i < 2 * Rows; ++i)
    __asm__ volatile("fmul %0.4s, %0.4s, %1.4s" : "+w"(acc[i / 2][i % 2]) : "w"(multipliers[i % 2]));
#pragma GCC unroll 16
  for (int32_t i = 0; i < 2 * Rows; ++i) __asm__ volatile("fcvtns %0.4s, %0.4s" : "+w"(acc[i / 2][i % 2]));
#pragma GCC unroll 8
  for (int32_t r = 0; r < Rows; ++r) __asm__ volatile("sqxtn %0.4h, %0.4s" : "+w"(acc[r][0]));
#pragma GCC unroll 8
  for (int32_t r = 0; r < Rows; ++r)
    __asm__ volatile("sqxtn2 %0.8h, %1.4s" : "+w"(acc[r][0]) : "w"(acc[r][1]));
#pragma GCC unroll 8
  for (int32_t r = 0; r < Rows; ++r)
    __asm__ volatile("sqadd %0.8h, %0.8h, %1.8h" : "+w"(acc[r][0]) : "w"(zero_point));
#pragma GCC unroll 4
  for (int32_t r = 0; r < Rows; r += 2) __asm__ volatile("sqxtn %0.8b, %0.8h" : "+w"(acc[r][0]));
  TileCodes<Rows / 2> codes;
#pragma GCC unroll 4
  for (int32_t r = 0; r < Rows; r += 2) {
    __asm__ volatile("sqxtn2 %0.16b, %1.8h" : "+w"(acc[r][0]) : "w"(acc[r + 1][0]));
    codes.v[r / 2] = vreinterpretq_s8_s32(acc[r][0]);
  }
  return codes;
}

// The rows from `row` on.
inline GemmS8Args rows_from(const GemmS8Args& args, int32_t row) {
  GemmS8Args rest = args;
  const auto at = static_cast<size_t>(row);
  rest.rows += row;
  rest.output += at * args.output_stride;
  if (args.residual != nullptr) rest.residual += at * args.residual_stride;
  rest.m -= row;
  return rest;
}

// A row that plain_row() takes, sixteen columns at a time. Sums: as in plain_row_neon(), but add<More>(a): sixteen depths, and
// whether others follow.
template <typename Sums>
__attribute__((always_inline)) inline void plain_row_by_sums(const GemmS8Args& args, int32_t row,
                                                             ptrdiff_t bytes_of_sixteen_columns) {
  const OutputNeon output = make_output_neon(args.requant);
  const int32_t n = args.n, k = args.k;
  const int8_t *const x = args.rows[row], *const past_row = x + k;
  const int32_t* bias = args.folded_bias;
  const float* multiplier = args.multiplier;
  const auto* w = static_cast<const int8_t*>(args.weights);
  int8_t* to = args.output + static_cast<size_t>(row) * args.output_stride;
  for (int8_t* const past = to + n; to != past;
       to += 16, w += bytes_of_sixteen_columns, bias += 16, multiplier += 16) {
    int8x16_t a = load_end_neon<16>(x, 0);
    Sums sums(w, bias, bytes_of_sixteen_columns);
    for (const int8_t* from = x + 16; from != past_row; from += 16) {
      const int8x16_t next = load_end_neon<16>(from, 0);
      sums.template add<true>(a);
      a = next;
    }
    sums.template add<false>(a);
    int32x4_t v[4];
    sums.finish(v);
    vst1q_s8(to, requantize_neon(v[0], v[1], v[2], v[3], vld1q_f32(multiplier), vld1q_f32(multiplier + 4),
                                 vld1q_f32(multiplier + 8), vld1q_f32(multiplier + 12), output));
  }
}

}  // namespace
}  // namespace intaglio

#endif
