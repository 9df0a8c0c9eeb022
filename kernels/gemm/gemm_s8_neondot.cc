// ARMv8.2 dot products. Four depths of eight rows times eight columns: sdot by lane, one row's four codes
// being a lane.
//
// A tile's rows are copied once, to scratch [four rows at a time][taps][k / 4 rounded up][4][4], zeros behind
// the last depth; a single row to [taps][k / 4 rounded up][4].
#include "kernels/arithmetic/widen_neon.h"
#include "kernels/gemm/gemm_s8_neon_tile.h"

namespace intaglio {
namespace {

constexpr int32_t kMr = 8, kNr = 8, kKr = 4;

// Four rows' next sixteen depths, quad by quad. In assembly: gcc 12 builds the operand of vst4q_s32 in
// memory.
inline void store_quads(int8_t* to, int8x16_t row0, int8x16_t row1, int8x16_t row2, int8x16_t row3) {
  register int8x16_t v0 __asm__("v16") = row0;
  register int8x16_t v1 __asm__("v17") = row1;
  register int8x16_t v2 __asm__("v18") = row2;
  register int8x16_t v3 __asm__("v19") = row3;
  __asm__("st4 {%1.4s, %2.4s, %3.4s, %4.4s}, %0"
          : "=Q"(*reinterpret_cast<int8_t(*)[64]>(to))
          : "w"(v0), "w"(v1), "w"(v2), "w"(v3));
}

// Rows past m are copies of the first: computed, not stored.
void copy_rows(const GemmS8Args& args, int32_t rows, int8_t* out) {
  const int32_t m = args.m, k = args.k, taps = args.taps;  // the codes written may alias the arguments
  for (int32_t first = 0; first < rows; first += 4)
    for (int32_t t = 0; t < taps; ++t) {
      const int8_t* const* const from = args.rows + static_cast<ptrdiff_t>(t) * kMr;
      const int8_t* const x0 = from[first];
      const int8_t* const x1 = from[first + 1 < m ? first + 1 : 0];
      const int8_t* const x2 = from[first + 2 < m ? first + 2 : 0];
      const int8_t* const x3 = from[first + 3 < m ? first + 3 : 0];
      ptrdiff_t i = 0;
#pragma GCC unroll 2
      for (; i + 16 <= k; i += 16, out += 64)
        store_quads(out, vld1q_s8(x0 + i), vld1q_s8(x1 + i), vld1q_s8(x2 + i), vld1q_s8(x3 + i));
      if (i == k) continue;
      const auto rest = static_cast<int32_t>(k - i);
      alignas(16) int8_t quads[64];
      store_quads(quads, load_some_neon(x0 + i, rest), load_some_neon(x1 + i, rest),
                  load_some_neon(x2 + i, rest), load_some_neon(x3 + i, rest));
      for (int32_t q = 0; q < rest; q += kKr, out += 16) vst1q_s8(out, vld1q_s8(quads + 4 * q));
    }
}

void copy_one(const GemmS8Args& args, int8_t* out) {
  for (int32_t t = 0; t < args.taps; ++t) {
    const auto k = static_cast<size_t>(args.k), padded = (k + 3) / 4 * 4;
    memcpy(out, args.rows[static_cast<ptrdiff_t>(t) * kMr], k);
    memset(out + k, 0, padded - k);
    out += padded;
  }
}

// acc[r] += a quad of row r, a lane of a, times the quad's eight columns. In assembly: gcc 12 copies
// accumulators around the intrinsic.
inline void four_rows(int8x16_t a, int8x16_t b0, int8x16_t b1, int32x4_t (*acc)[2]) {
  __asm__("sdot %0.4s, %1.16b, %2.4b[0]" : "+w"(acc[0][0]) : "w"(b0), "w"(a));
  __asm__("sdot %0.4s, %1.16b, %2.4b[0]" : "+w"(acc[0][1]) : "w"(b1), "w"(a));
  __asm__("sdot %0.4s, %1.16b, %2.4b[1]" : "+w"(acc[1][0]) : "w"(b0), "w"(a));
  __asm__("sdot %0.4s, %1.16b, %2.4b[1]" : "+w"(acc[1][1]) : "w"(b1), "w"(a));
  __asm__("sdot %0.4s, %1.16b, %2.4b[2]" : "+w"(acc[2][0]) : "w"(b0), "w"(a));
  __asm__("sdot %0.4s, %1.16b, %2.4b[2]" : "+w"(acc[2][1]) : "w"(b1), "w"(a));
  __asm__("sdot %0.4s, %1.16b, %2.4b[3]" : "+w"(acc[3][0]) : "w"(b0), "w"(a));
  __asm__("sdot %0.4s, %1.16b, %2.4b[3]" : "+w"(acc[3][1]) : "w"(b1), "w"(a));
}

// acc[r]: eight columns of row r; Fours times four rows. x: four rows' quads, the next
// four's `four_bytes` on.
template <int32_t Fours>
inline void multiply_quad(const int8_t* x, ptrdiff_t four_bytes, const int8_t* w, int32x4_t (*acc)[2]) {
  const int8x16_t b0 = vld1q_s8(w), b1 = vld1q_s8(w + 16);
#pragma GCC unroll 2
  for (int32_t f = 0; f < Fours; ++f) {
    const int8x16_t a = vld1q_s8(x + f * four_bytes);
    four_rows(a, b0, b1, acc + 4 * f);
  }
}

// Four quads at once, loads first.
template <int32_t Fours>
inline void multiply_quads(const int8_t* x, ptrdiff_t four_bytes, const int8_t* w, int32x4_t (*acc)[2]) {
#pragma GCC unroll 2
  for (int32_t q = 0; q < 4; q += 2) {
    const int8x16_t b0 = vld1q_s8(w + 32 * q), b1 = vld1q_s8(w + 32 * q + 16);
    const int8x16_t b2 = vld1q_s8(w + 32 * q + 32), b3 = vld1q_s8(w + 32 * q + 48);
#pragma GCC unroll 2
    for (int32_t f = 0; f < Fours; ++f) {
      const int8_t* const from = x + f * four_bytes + 16 * q;
      const int8x16_t a0 = vld1q_s8(from), a1 = vld1q_s8(from + 16);
      four_rows(a0, b0, b1, acc + 4 * f);
      four_rows(a1, b2, b3, acc + 4 * f);
    }
  }
}

template <int32_t Fours>
void tile(const GemmS8Args& args) {
  auto* const lhs = static_cast<int8_t*>(args.scratch);
  const ptrdiff_t quads = static_cast<ptrdiff_t>(args.taps) * ((args.k + kKr - 1) / kKr);
  const ptrdiff_t four_bytes = quads * 4 * kKr;
  copy_rows(args, 4 * Fours, lhs);
  const OutputNeon output = make_output_neon(args.requant);
  WorkNeon work = start_neon(args, 4 * Fours);
  LastPanelNeon<kNr> last;
  const auto* w = static_cast<const int8_t*>(args.weights);
  for (; work.columns > 0; next_panel_neon<kNr>(&work)) {
    if (work.columns < kNr) use_copies_neon(&work, &last);
    int32x4_t acc[4 * Fours][2];
    acc[0][0] = vld1q_s32(work.bias);
    acc[0][1] = vld1q_s32(work.bias + 4);
#pragma GCC unroll 8
    for (int32_t r = 1; r < 4 * Fours; ++r) {
      acc[r][0] = acc[0][0];
      acc[r][1] = acc[0][1];
    }
    const int8_t* x = lhs;
    ptrdiff_t left = quads;
    for (; left >= 8; left -= 8, x += 128, w += 8 * kNr * kKr) {
      multiply_quads<Fours>(x, four_bytes, w, acc);
      multiply_quads<Fours>(x + 64, four_bytes, w + 4 * kNr * kKr, acc);
    }
    if (__builtin_expect(left >= 4, 0)) {  // out of the way of what follows
      multiply_quads<Fours>(x, four_bytes, w, acc);
      left -= 4;
      x += 64;
      w += 4 * kNr * kKr;
    }
    for (; left > 0; --left, x += 16, w += kNr * kKr) multiply_quad<Fours>(x, four_bytes, w, acc);
    const float32x4_t m0 = vld1q_f32(work.multiplier), m1 = vld1q_f32(work.multiplier + 4);
    TileCodes<2 * Fours> codes;
#pragma GCC unroll 4
    for (int32_t i = 0; i < 2 * Fours; ++i)
      codes.v[i] = requantize_neon(acc[2 * i][0], acc[2 * i][1], acc[2 * i + 1][0], acc[2 * i + 1][1], m0, m1,
                                   m0, m1, output);
    store_rows_neon(args, work, codes);
  }
}

// A row alone: a fully connected layer of one sample.
void single_row(const GemmS8Args& args) {
  auto* const lhs = static_cast<int8_t*>(args.scratch);
  const ptrdiff_t quads = static_cast<ptrdiff_t>(args.taps) * ((args.k + kKr - 1) / kKr);
  copy_one(args, lhs);
  const OutputNeon output = make_output_neon(args.requant);
  WorkNeon work = start_neon(args, 2);
  LastPanelNeon<kNr> last;
  const auto* w = static_cast<const int8_t*>(args.weights);
  for (; work.columns > 0; next_panel_neon<kNr>(&work)) {
    if (work.columns < kNr) use_copies_neon(&work, &last);
    int32x4_t sum0 = vld1q_s32(work.bias), sum1 = vld1q_s32(work.bias + 4);
    int32x4_t odd0 = vdupq_n_s32(0), odd1 = odd0;
    const int8_t* x = lhs;
    ptrdiff_t left = quads;
    for (; left >= 4; left -= 4, x += 16, w += 4 * kNr * kKr) {
      const int8x16_t a = vld1q_s8(x);
      sum0 = vdotq_laneq_s32(sum0, vld1q_s8(w), a, 0);
      sum1 = vdotq_laneq_s32(sum1, vld1q_s8(w + 16), a, 0);
      odd0 = vdotq_laneq_s32(odd0, vld1q_s8(w + 32), a, 1);
      odd1 = vdotq_laneq_s32(odd1, vld1q_s8(w + 48), a, 1);
      sum0 = vdotq_laneq_s32(sum0, vld1q_s8(w + 64), a, 2);
      sum1 = vdotq_laneq_s32(sum1, vld1q_s8(w + 80), a, 2);
      odd0 = vdotq_laneq_s32(odd0, vld1q_s8(w + 96), a, 3);
      odd1 = vdotq_laneq_s32(odd1, vld1q_s8(w + 112), a, 3);
    }
    for (; left > 0; --left, x += 4, w += kNr * kKr) {
      int32_t word;
      memcpy(&word, x, sizeof word);
      const int8x16_t a = vreinterpretq_s8_s32(vdupq_n_s32(word));
      sum0 = vdotq_s32(sum0, vld1q_s8(w), a);
      sum1 = vdotq_s32(sum1, vld1q_s8(w + 16), a);
    }
    sum0 = add_wrapping_neon(sum0, odd0);
    sum1 = add_wrapping_neon(sum1, odd1);
    const float32x4_t m0 = vld1q_f32(work.multiplier), m1 = vld1q_f32(work.multiplier + 4);
    store_neon<kNr>(args, 0, args.n - work.columns,
                    requantize_neon(sum0, sum1, sum0, sum1, m0, m1, m0, m1, output));
  }
}

}  // namespace

void gemm_s8_neondot(const GemmS8Args& args);

void gemm_s8_neondot(const GemmS8Args& args) {
  if (args.m == 1) return single_row(args);
  if (args.m <= 4) return tile<1>(args);
  tile<2>(args);
}

}  // namespace intaglio
