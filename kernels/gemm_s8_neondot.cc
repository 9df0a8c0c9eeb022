// ARMv8.2 dot products. Four depths of eight rows times eight columns: sdot by lane, one row's four codes
// being a lane.
//
// A tile's rows are copied once, to scratch [four rows at a time][taps][k / 4 rounded up][4][4], zeros behind
// the last depth; a single row to [taps][k / 4 rounded up][4].
#include "kernels/gemm_s8_neon_tile.h"

namespace intaglio {
namespace {

constexpr int32_t kMr = 8, kNr = 8, kKr = 4;

inline int32x4_t load_words(const int8_t* from) { return vreinterpretq_s32_s8(vld1q_s8(from)); }

// Rows past m are copies of the first: computed, not stored.
void copy_four(const GemmS8Args& args, int32_t first, int8_t* out) {
  const int32_t k = args.k, taps = args.taps;  // the codes written may alias the arguments
  for (int32_t t = 0; t < taps; ++t) {
    const int8_t* const* const rows = args.rows + static_cast<ptrdiff_t>(t) * kMr;
    const int8_t* x[4];
#pragma GCC unroll 4
    for (int32_t r = 0; r < 4; ++r) x[r] = rows[first + r < args.m ? first + r : 0];
    ptrdiff_t i = 0;
    for (; i + 16 <= k; i += 16, out += 64) {
      const int32x4x4_t v = {
          {load_words(x[0] + i), load_words(x[1] + i), load_words(x[2] + i), load_words(x[3] + i)}};
      vst4q_s32(reinterpret_cast<int32_t*>(out), v);
    }
    for (; i < k; i += kKr)
      for (int32_t r = 0; r < 4; ++r, out += 4) {
        const ptrdiff_t left = k - i;
        int8_t some[4] = {};
        memcpy(some, x[r] + i, static_cast<size_t>(left < kKr ? left : kKr));
        memcpy(out, some, 4);
      }
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

// The quad's weights times four rows whose codes are the lanes of a.
#define ITG_FOUR_4                                                             \
  *Halves(acc, b0, b1, a)(acc)[0][0] = vdotq_laneq_s32((acc)[0][0], b0, a, 0); \
  (acc)[0][1] = vdotq_laneq_s32((acc)[0][1], b1, a, 0);                        \
  (acc)[1][0] = vdotq_laneq_s32((acc)[1][0], b0, a, 1);                        \
  (acc)[1][1] = vdotq_laneq_s32((acc)[1][1], b1, a, 1);                        \
  (acc)[2][0] = vdotq_laneq_s32((acc)[2][0], b0, a, 2);                        \
  (acc)[2][1] = vdotq_laneq_s32((acc)[2][1], b1, a, 2);                        \
  (acc)[3][0] = vdotq_laneq_s32((acc)[3][0], b0, a, 3);                        \
  (acc)[3][1] = vdotq_laneq_s32((acc)[3][1], b1, a, 3)

// acc[r]: eight columns of row r; four rows for each Half. x: four rows' quads, the next four's `half_bytes`
// on.
template <int32_t Halves>
inline void multiply_quad(const int8_t* x, ptrdiff_t half_bytes, const int8_t* w, int32x4_t (*acc)[2]) {
  const int8x16_t b0 = vld1q_s8(w), b1 = vld1q_s8(w + 16);
#pragma GCC unroll 2
  for (int32_t h = 0; h < Halves; ++h) {
    const int8x16_t a = vld1q_s8(x + h * half_bytes);
    ITG_FOUR_ROWS(acc + 4 * h, b0, b1, a);
  }
}

// Four quads at once, loads first.
template <int32_t Halves>
inline void multiply_quads(const int8_t* x, ptrdiff_t half_bytes, const int8_t* w, int32x4_t (*acc)[2]) {
#pragma GCC unroll 2
  for (int32_t q = 0; q < 4; q += 2) {
    const int8x16_t b0 = vld1q_s8(w + 32 * q), b1 = vld1q_s8(w + 32 * q + 16);
    const int8x16_t b2 = vld1q_s8(w + 32 * q + 32), b3 = vld1q_s8(w + 32 * q + 48);
#pragma GCC unroll 2
    for (int32_t h = 0; h < Halves; ++h) {
      const int8_t* const from = x + h * half_bytes + 16 * q;
      const int8x16_t a0 = vld1q_s8(from), a1 = vld1q_s8(from + 16);
      ITG_FOUR_ROWS(acc + 4 * h, b0, b1, a0);
      ITG_FOUR_ROWS(acc + 4 * h, b2, b3, a1);
    }
  }
}

template <int32_t Halves>
void tile(const GemmS8Args& args) {
  auto* const lhs = static_cast<int8_t*>(args.scratch);
  const ptrdiff_t quads = static_cast<ptrdiff_t>(args.taps) * ((args.k + kKr - 1) / kKr);
  const ptrdiff_t half_bytes = quads * 4 * kKr;
  for (int32_t h = 0; h < Halves; ++h) copy_four(args, 4 * h, lhs + h * half_bytes);
  const OutputNeon output = make_output_neon(args.requant);
  WorkNeon<kNr> work;
  start_neon(args, 4 * Halves, &work);
  const auto* w = static_cast<const int8_t*>(args.weights);
  for (; work.columns > 0; next_panel_neon(&work)) {
    if (work.columns < kNr) copy_last_panel_neon(&work);
    int32x4_t acc[4 * Halves][2];
    acc[0][0] = vld1q_s32(work.bias);
    acc[0][1] = vld1q_s32(work.bias + 4);
#pragma GCC unroll 8
    for (int32_t r = 1; r < 4 * Halves; ++r) {
      acc[r][0] = acc[0][0];
      acc[r][1] = acc[0][1];
    }
    const int8_t* x = lhs;
    ptrdiff_t left = quads;
    for (; left >= 4; left -= 4, x += 64, w += 4 * kNr * kKr) multiply_quads<Halves>(x, half_bytes, w, acc);
    for (; left > 0; --left, x += 16, w += kNr * kKr) multiply_quad<Halves>(x, half_bytes, w, acc);
    const float32x4_t m0 = vld1q_f32(work.multiplier), m1 = vld1q_f32(work.multiplier + 4);
    int8x16_t codes[2 * Halves];
#pragma GCC unroll 4
    for (int32_t i = 0; i < 2 * Halves; ++i)
      codes[i] = requantize_neon(acc[2 * i][0], acc[2 * i][1], acc[2 * i + 1][0], acc[2 * i + 1][1], m0, m1,
                                 m0, m1, output);
    store_rows_neon<2 * Halves>(args, work, codes);
  }
}

// A row alone: a fully connected layer of one sample.
void single_row(const GemmS8Args& args) {
  auto* const lhs = static_cast<int8_t*>(args.scratch);
  const ptrdiff_t quads = static_cast<ptrdiff_t>(args.taps) * ((args.k + kKr - 1) / kKr);
  copy_one(args, lhs);
  const OutputNeon output = make_output_neon(args.requant);
  WorkNeon<kNr> work;
  start_neon(args, 2, &work);
  const auto* w = static_cast<const int8_t*>(args.weights);
  for (; work.columns > 0; next_panel_neon(&work)) {
    if (work.columns < kNr) copy_last_panel_neon(&work);
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
    sum0 = vaddq_s32(sum0, odd0);
    sum1 = vaddq_s32(sum1, odd1);
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
