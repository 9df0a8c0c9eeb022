// ARMv8.2 dot products for Cortex-A55, which issues in order: the same sums as gemm_s8_neondot.cc, the same packing. Eight depths of
// eight rows times eight columns, each load in the shadow of a product. What has no schedule here is left to that kernel.
#include "kernels/arithmetic/requant_neon.h"
#include "kernels/gemm/gemm_s8_neon_in_order.h"

namespace intaglio {
namespace {

constexpr int32_t kNr = 8, kKr = 4;
constexpr int32_t kQuad = kNr * kKr;  // bytes of a quad's weights
constexpr int32_t kHalf = 8;          // depths at once

template <int32_t Lane>
inline void dot_in_order(int8x16_t b, int8x16_t a, int32x4_t* sum) {
  __asm__ volatile("sdot %0.4s, %1.16b, %2.4b[%3]" : "+w"(*sum) : "w"(b), "w"(a), "i"(Lane));
}

// A quad's weights, two vectors.
struct QuadWeights {
  int8x16_t v[2];
};

// Quad `Lane` of the rows' eight depths. Meanwhile, the 32 bytes at w + Offset. With Next also the rows' next eight depths, at
// *distance, and w moves on over this and the last quad; else *distance becomes what stands behind *at.
template <int32_t Rows, int32_t Lane, int32_t Offset, bool Next>
__attribute__((always_inline)) inline void add_quad_in_order(const QuadWeights& b, const int8_t** w,
                                                             QuadWeights* loaded, const int8_t* const* x,
                                                             const ptrdiff_t** at, ptrdiff_t* distance,
                                                             int8x16_t* a, int32x4_t (*acc)[2]) {
  uint64_t first = 0, second = 0;
#pragma GCC unroll 8
  for (int32_t r = 0; r < Rows; ++r) {
    dot_in_order<Lane>(b.v[0], a[r], &acc[r][0]);
    if (r == 0) load_low<Offset>(*w, &loaded->v[0]);
    if (r == 1) load_word<Offset + 8>(*w, &first);
    if (r == 2) load_low<Offset + 16>(*w, &loaded->v[1]);
    if (r == 3) load_word<Offset + 24>(*w, &second);
    if (r == 4 && Next) move_on<2 * kQuad>(w);
    if (r == 5) insert_high(first, &loaded->v[0]);
    if (r == 6) insert_high(second, &loaded->v[1]);
    dot_in_order<Lane>(b.v[1], a[r], &acc[r][1]);
    if (Next) load_low_at(x[r], *distance, &a[r]);
    if (r == 1 && !Next && at != nullptr) next_distance(at, distance);
  }
  if (Rows == 4) {
    insert_high(first, &loaded->v[0]);
    insert_high(second, &loaded->v[1]);
    if (Next) move_on<2 * kQuad>(w);
  }
}

// The quads that hold a row's last depths, fewer than eight; returns the weights behind them.
template <int32_t Rows>
__attribute__((always_inline)) inline const int8_t* add_last(const int8x16_t* a, const int8_t* w,
                                                             int32_t rest, int32x4_t (*acc)[2]) {
  const TwoNeon first = load_two_neon<0>(w);
#pragma GCC unroll 8
  for (int32_t r = 0; r < Rows; ++r) {
    dot_in_order<0>(first.first, a[r], &acc[r][0]);
    dot_in_order<0>(first.second, a[r], &acc[r][1]);
  }
  if (rest <= kKr) return w + kQuad;
  const TwoNeon second = load_two_neon<kQuad>(w);
#pragma GCC unroll 8
  for (int32_t r = 0; r < Rows; ++r) {
    dot_in_order<1>(second.first, a[r], &acc[r][0]);
    dot_in_order<1>(second.second, a[r], &acc[r][1]);
  }
  return w + 2 * kQuad;
}

// How rows are read: eight codes at a time, at distances from their first ones, and what is left of the only tap.
struct HalvesNeon {
  const ptrdiff_t *first, *last;  // distances; the last one stands twice
  ptrdiff_t whole;                // depths in eights
  int32_t rest;                   // the others
  int32_t load;                   // bytes that hold them: 4 or 8
  bool possible;                  // else rows have to be copied, or each tap has its own addresses
};

HalvesNeon halves_of(const GemmS8Args& args) {
  HalvesNeon in;
  in.rest = args.k % kHalf;
  in.whole = args.k - in.rest;
  in.load = args.rows_padded ? 8 : 4;
  auto* to = static_cast<ptrdiff_t*>(args.scratch);
  in.first = to;
  in.possible = in.whole > 0 && (in.rest == 0 || (args.taps == 1 && (args.rows_padded || in.rest == 4))) &&
                (args.taps == 1 || args.tap_offsets != nullptr);
  if (in.possible) {
    const ptrdiff_t none = 0;
    const ptrdiff_t* const offsets = args.taps > 1 ? args.tap_offsets : &none;
    for (int32_t t = 0; t < args.taps; ++t)
      for (ptrdiff_t i = 0; i < in.whole; i += kHalf) *to++ = offsets[t] + i;
  }
  in.last = to - 1;
  return in;
}

// Starts a panel: sums are the biases, `a` the rows' first eight depths, b the first quad's weights.
template <int32_t Rows>
__attribute__((always_inline)) inline void start_panel(const int32_t* bias, const int8_t* w,
                                                       const int8_t* const* x, ptrdiff_t at, int8x16_t* a,
                                                       QuadWeights* b, int32x4_t (*acc)[2]) {
  uint64_t word[4];
  int8x16_t start[2];
  const auto* const from = reinterpret_cast<const int8_t*>(bias);
  load_word<8>(from, &word[0]);
  load_low(from, &start[0]);
  load_word<24>(from, &word[1]);
  load_low<16>(from, &start[1]);
  insert_high(word[0], &start[0]);
  load_word<8>(w, &word[2]);
  load_low(w, &b->v[0]);
  insert_high(word[1], &start[1]);
  load_word<24>(w, &word[3]);
#pragma GCC unroll 8
  for (int32_t r = 0; r < Rows; ++r) {
    copy_sums(vreinterpretq_s32_s8(start[0]), &acc[r][0]);
    if (r == 0) load_low<16>(w, &b->v[1]);
    if (r == 1) insert_high(word[2], &b->v[0]);
    if (r == 2) insert_high(word[3], &b->v[1]);
    copy_sums(vreinterpretq_s32_s8(start[1]), &acc[r][1]);
    load_low_at(x[r], at, &a[r]);
  }
}

// Rows [row, past), so many at a time.
template <int32_t Rows>
__attribute__((noinline)) void tiles_in_order(const GemmS8Args& args, const HalvesNeon& halves, int32_t row,
                                              int32_t past) {
  const HalvesNeon in = halves;
  const OutputNeon output = make_output_neon(args.requant);
  const auto sums = make_sums_neon<Rows / 2>(args);
  LastPanelNeon<kNr> last;
  for (; row < past; row += Rows) {
    const int8_t* x[Rows];
#pragma GCC unroll 8
    for (int32_t r = 0; r < Rows; ++r) x[r] = args.rows[row + r];
    WorkNeon work = start_neon(args, output, row, Rows);
    const auto* w = static_cast<const int8_t*>(args.weights);
    for (; work.columns > 0; next_panel_neon<kNr>(&work)) {
      if (__builtin_expect(work.columns < kNr, 0)) use_copies_neon(&work, &last);
      int32x4_t acc[Rows][2];
      int8x16_t a[Rows];
      QuadWeights even, odd;
      const ptrdiff_t* at = in.first;
      start_panel<Rows>(work.bias, w, x, *at, a, &even, acc);
      ptrdiff_t distance = 0;
      while (at != in.last) {
        add_quad_in_order<Rows, 0, kQuad, false>(even, &w, &odd, x, &at, &distance, a, acc);
        add_quad_in_order<Rows, 1, 2 * kQuad, true>(odd, &w, &even, x, nullptr, &distance, a, acc);
      }
      add_quad_in_order<Rows, 0, kQuad, false>(even, &w, &odd, x, nullptr, &distance, a, acc);
      // The multipliers are as large as a quad's weights.
      const auto* m = reinterpret_cast<const int8_t*>(work.multiplier);
      add_quad_in_order<Rows, 1, 0, false>(odd, &m, &even, x, nullptr, &distance, a, acc);
      w += 2 * kQuad;
      if (in.rest != 0) {
        load_ends_neon<Rows>(x, in.whole, in.load, a);
        w = add_last<Rows>(a, w, in.rest, acc);
      }
      const TileCodes<Rows / 2> codes = requantize_in_order<Rows>(acc, even.v, output);
      store_rows_neon(args, row, work, output, sums, codes);
    }
  }
}

// Sixteen columns of a row. A vector of weights is asked for four products ahead, and put together two ahead.
class RowSumsInOrder {
 public:
  RowSumsInOrder(const int8_t* w, const int32_t* bias, ptrdiff_t bytes) : w_{w, w + bytes / 2} {
    fill<0>();
#pragma GCC unroll 2
    for (int32_t p = 0; p < 2; ++p) {
      const BiasesNeon b = load_biases_neon(bias + kNr * p);
      even_[p][0] = b.first;
      even_[p][1] = b.second;
      odd_[p][0] = odd_[p][1] = vdupq_n_s32(0);
    }
    insert_high(word_[0], &b_[0]);
    insert_high(word_[1], &b_[1]);
  }
  // Sixteen depths; `More`: others follow.
  template <bool More>
  __attribute__((always_inline)) inline void add(int8x16_t a) {
    step<0, More>(a);
    w_[0] += 4 * kQuad;
    w_[1] += 4 * kQuad;
  }
  void finish(int32x4_t* sums) const {
#pragma GCC unroll 4
    for (int32_t i = 0; i < 4; ++i) sums[i] = add_wrapping_neon(even_[i / 2][i % 2], odd_[i / 2][i % 2]);
  }

 private:
  static constexpr int32_t kVectors = 16, kAhead = 4;

  // Vector I: quads, then panels, then halves.
  template <int32_t I>
  const int8_t* panel() const {
    return w_[I / 2 % 2];
  }
  template <int32_t I>
  static constexpr int32_t kOffset = I / 4 * kQuad + I % 2 * 16;

  template <int32_t I>
  __attribute__((always_inline)) inline void fill() {
    if constexpr (I < kAhead) {
      load_word<kOffset<I> + 8>(panel<I>(), &word_[I]);
      load_low<kOffset<I>>(panel<I>(), &b_[I]);
      fill<I + 1>();
    }
  }
  template <int32_t I, bool More>
  __attribute__((always_inline)) inline void step(int8x16_t a) {
    if constexpr (I < kVectors) {
      constexpr int32_t kQuadOf = I / 4, kNext = I + kAhead, kDone = I + 2;
      dot_in_order<kQuadOf>(b_[I % kAhead], a,
                            kQuadOf % 2 == 0 ? &even_[I / 2 % 2][I % 2] : &odd_[I / 2 % 2][I % 2]);
      if constexpr (More || kNext < kVectors) load_low<kOffset<kNext>>(panel<kNext>(), &b_[I % kAhead]);
      if constexpr (More || kDone < kVectors) insert_high(word_[kDone % kAhead], &b_[kDone % kAhead]);
      if constexpr (More || kNext < kVectors)
        load_word<kOffset<kNext> + 8>(panel<kNext>(), &word_[I % kAhead]);
      step<I + 1, More>(a);
    }
  }

  const int8_t* w_[2];
  int32x4_t even_[2][2], odd_[2][2];
  int8x16_t b_[kAhead];
  uint64_t word_[kAhead];
};

// A row that plain_row() takes.
__attribute__((noinline)) void plain_row_in_order(const GemmS8Args& args, int32_t row) {
  plain_row_by_sums<RowSumsInOrder>(args, row, static_cast<ptrdiff_t>(args.k / kKr) * 2 * kQuad);
}

}  // namespace

void gemm_s8_neondot(const GemmS8Args& args);
void gemm_s8_neona55(const GemmS8Args& args);

void gemm_s8_neona55(const GemmS8Args& args) {
  if (args.m == 1 && plain_row(args)) return plain_row_in_order(args, 0);
  const HalvesNeon in = halves_of(args);
  if (!in.possible || args.m == 1) return gemm_s8_neondot(args);
  const int32_t whole = args.m / 8 * 8, rest = args.m - whole;
  if (whole > 0) tiles_in_order<8>(args, in, 0, whole);
  if (rest > 4) return tiles_in_order<8>(args, in, whole, args.m);
  if (rest > 1) return tiles_in_order<4>(args, in, whole, args.m);
  if (rest == 1)
    return plain_row(args) ? plain_row_in_order(args, whole) : gemm_s8_neondot(rows_from(args, whole));
}

}  // namespace intaglio
