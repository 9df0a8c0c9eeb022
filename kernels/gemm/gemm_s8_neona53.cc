// Plain NEON for Cortex-A53, which issues in order: the same sums as gemm_s8_neon.cc, the same packing. There a load of a general
// register issues together with a multiplication, one of a vector register does not. So codes come in words of eight, and words
// of two vectors are inserted side by side. What has no schedule here is left to that kernel.
#include "kernels/gemm/gemm_s8_neon_in_order.h"
#include "kernels/gemm/gemm_s8_neon_products.h"

namespace intaglio {
namespace {

constexpr int32_t kBlock = kNr * kKr;  // bytes of sixteen depths' weights

inline void multiply_low(int8x16_t a, int8x16_t b, int16x8_t* p) {
  __asm__ volatile("smull %0.8h, %1.8b, %2.8b" : "=w"(*p) : "w"(a), "w"(b));
}
inline void add_high(int8x16_t a, int8x16_t b, int16x8_t* p) {
  __asm__ volatile("smlal2 %0.8h, %1.16b, %2.16b" : "+w"(*p) : "w"(a), "w"(b));
}
inline void add_pairs_in_order(int16x8_t p, int32x4_t* sum) {
  __asm__ volatile("sadalp %0.4s, %1.8h" : "+w"(*sum) : "w"(p));
}
inline void load_word_at(const int8_t* from, ptrdiff_t at, uint64_t* word) {
  __asm__ volatile("ldr %0, [%1, %2]"
                   : "=r"(*word)
                   : "r"(from), "r"(at), "m"(*reinterpret_cast<const int8_t(*)[kAnyBytes]>(from)));
}
// Two vectors of two words each; one instruction of each issues with one of the other.
inline void insert_two(const uint64_t* words, int8x16_t* first, int8x16_t* second) {
  insert_low(words[0], first);
  insert_low(words[2], second);
  insert_high(words[1], first);
  insert_high(words[3], second);
}

// Loads that are issued during a column's products.
enum class Asked { kNothing, kWeights, kRows };

// Sixteen depths of four rows times a column. kWeights: the 32 bytes at w + Offset become b[0] and b[1]; kRows: the rows'
// next sixteen depths, at `distance`, and w moves on. Where `at` is given, `distance` becomes what stands behind it.
template <Asked kAsked, int32_t Offset>
__attribute__((always_inline)) inline void add_column_in_order(int8x16_t column, int32_t c, const int8_t** w,
                                                               int8x16_t* b, const int8_t* const* x,
                                                               const ptrdiff_t** at, ptrdiff_t* distance,
                                                               int8x16_t* a, int32x4_t (*acc)[kNr]) {
  int16x8_t p[4];
  uint64_t words[8];
  const ptrdiff_t upper = *distance + 8;
  if constexpr (kAsked == Asked::kRows) {
    // One piece: apart, gcc takes a row's register for products, and copies these there.
    __asm__ volatile(
        "smull %0.8h, %12.8b, %16.8b\n\tldr %4, [%17, %21]\n\t"
        "smull %1.8h, %13.8b, %16.8b\n\tldr %5, [%18, %21]\n\t"
        "smull %2.8h, %14.8b, %16.8b\n\tldr %6, [%19, %21]\n\t"
        "smull %3.8h, %15.8b, %16.8b\n\tldr %7, [%20, %21]\n\t"
        "smlal2 %0.8h, %12.16b, %16.16b\n\tldr %8, [%17, %22]\n\t"
        "smlal2 %1.8h, %13.16b, %16.16b\n\tldr %9, [%18, %22]\n\t"
        "smlal2 %2.8h, %14.16b, %16.16b\n\tldr %10, [%19, %22]\n\t"
        "smlal2 %3.8h, %15.16b, %16.16b\n\tldr %11, [%20, %22]"
        : "=&w"(p[0]), "=&w"(p[1]), "=&w"(p[2]), "=&w"(p[3]), "=&r"(words[0]), "=&r"(words[2]),
          "=&r"(words[4]), "=&r"(words[6]), "=&r"(words[1]), "=&r"(words[3]), "=&r"(words[5]), "=&r"(words[7])
        : "w"(a[0]), "w"(a[1]), "w"(a[2]), "w"(a[3]), "w"(column), "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]),
          "r"(*distance), "r"(upper)
        : "memory");
  } else {
#pragma GCC unroll 4
    for (int32_t r = 0; r < 4; ++r) {
      multiply_low(a[r], column, &p[r]);
      if (kAsked == Asked::kWeights && r == 0) load_word<Offset>(*w, &words[0]);
      if (kAsked == Asked::kWeights && r == 1) load_word<Offset + 16>(*w, &words[2]);
      if (kAsked == Asked::kWeights && r == 2) load_word<Offset + 8>(*w, &words[1]);
      if (kAsked == Asked::kWeights && r == 3) load_word<Offset + 24>(*w, &words[3]);
    }
#pragma GCC unroll 4
    for (int32_t r = 0; r < 4; ++r) {
      add_high(a[r], column, &p[r]);
      if (at != nullptr && r == 0) next_distance(at, distance);
    }
  }
  add_pairs_in_order(p[0], &acc[0][c]);
  add_pairs_in_order(p[1], &acc[1][c]);
  if (kAsked == Asked::kWeights) insert_two(words, &b[0], &b[1]);
  if (kAsked == Asked::kRows) insert_two(words, &a[0], &a[1]);
  add_pairs_in_order(p[2], &acc[2][c]);
  if (kAsked == Asked::kRows) move_on<kBlock>(w);
  add_pairs_in_order(p[3], &acc[3][c]);
  if (kAsked == Asked::kRows) insert_two(words + 4, &a[2], &a[3]);
}

// Sums are the biases, in their first lanes; a and b the first sixteen depths of the rows and of two columns.
__attribute__((always_inline)) inline void start_panel(const int32_t* bias, const int8_t* w,
                                                       const int8_t* const* x, ptrdiff_t at, int8x16_t* a,
                                                       int8x16_t* b, int32x4_t (*acc)[kNr]) {
  uint64_t words[12];
  const ptrdiff_t upper = at + 8;
#pragma GCC unroll 4
  for (int32_t c = 0; c < kNr; ++c) acc[0][c] = load_first_lane(bias + c);
#pragma GCC unroll 4
  for (int32_t r = 0; r < 4; ++r) {
    if (r > 0) copy_sums(acc[0][0], &acc[r][0]);
    load_word_at(x[r], at, &words[2 * r]);
    if (r > 0) copy_sums(acc[0][1], &acc[r][1]);
    load_word_at(x[r], upper, &words[2 * r + 1]);
    if (r > 0) copy_sums(acc[0][2], &acc[r][2]);
    if (r == 1) load_word<0>(w, &words[8]);
    if (r == 2) load_word<16>(w, &words[10]);
    if (r > 0) copy_sums(acc[0][3], &acc[r][3]);
    if (r == 1) load_word<8>(w, &words[9]);
    if (r == 2) load_word<24>(w, &words[11]);
  }
  insert_two(words, &a[0], &a[1]);
  insert_two(words + 8, &b[0], &b[1]);
  insert_two(words + 4, &a[2], &a[3]);
}

// requantize_wide_neon() of the sums of four rows' products, each step of all rows after the other.
inline int8x16_t requantize_across(int32x4_t (*acc)[kNr], float32x4_t multiplier, const OutputNeon& output) {
  int32x4_t v[4];
#pragma GCC unroll 4
  for (int32_t r = 0; r < 4; ++r) {
    __asm__ volatile("addp %0.4s, %0.4s, %1.4s" : "+w"(acc[r][0]) : "w"(acc[r][1]));
    __asm__ volatile("addp %0.4s, %0.4s, %1.4s" : "+w"(acc[r][2]) : "w"(acc[r][3]));
  }
#pragma GCC unroll 4
  for (int32_t r = 0; r < 4; ++r)
    __asm__ volatile("addp %0.4s, %1.4s, %2.4s" : "=w"(v[r]) : "w"(acc[r][0]), "w"(acc[r][2]));
  return requantize_wide_neon(v[0], v[1], v[2], v[3], multiplier, multiplier, multiplier, multiplier, output);
}

// Rows [row, past), four at a time, where every panel is proved and rows have one list with a whole sixteen.
__attribute__((noinline)) void tiles_in_order(const GemmS8Args& args, const RowsNeon& rows, int32_t row,
                                              int32_t past) {
  const RowsNeon in = rows;
  const BlocksNeon blocks = list_blocks_neon(args, in);
  const ptrdiff_t* const last_block = blocks.past - 1;
  const OutputNeon output = make_output_neon(args.requant);
  const auto residuals = make_tile_sums(args);
  LastPanelNeon<kNr> last;
  for (; row < past; row += 4) {
    const int8_t* x[4];
#pragma GCC unroll 4
    for (int32_t r = 0; r < 4; ++r) x[r] = args.rows[row + r];
    WorkNeon work = start_neon(args, output, row, 4);
    const auto* w = static_cast<const int8_t*>(args.weights);
    for (; work.columns > 0; next_panel_neon<kNr>(&work)) {
      if (__builtin_expect(work.columns < kNr, 0)) use_copies_neon(&work, &last);
      w += sizeof(int32_t) * kNr;
      int32x4_t acc[4][kNr];
      int8x16_t a[4], b[2], d[2];
      const ptrdiff_t* at = blocks.first;
      ptrdiff_t distance = 0;
      start_panel(work.bias, w, x, *at, a, b, acc);
      while (at != last_block) {
        add_column_in_order<Asked::kWeights, kBlock / 2>(b[0], 0, &w, d, x, nullptr, &distance, a, acc);
        add_column_in_order<Asked::kNothing, 0>(b[1], 1, &w, b, x, &at, &distance, a, acc);
        add_column_in_order<Asked::kWeights, kBlock>(d[0], 2, &w, b, x, nullptr, &distance, a, acc);
        add_column_in_order<Asked::kRows, 0>(d[1], 3, &w, b, x, nullptr, &distance, a, acc);
      }
      add_column_in_order<Asked::kWeights, kBlock / 2>(b[0], 0, &w, d, x, nullptr, &distance, a, acc);
      add_column_in_order<Asked::kNothing, 0>(b[1], 1, &w, b, x, nullptr, &distance, a, acc);
      add_column_in_order<Asked::kNothing, 0>(d[0], 2, &w, b, x, nullptr, &distance, a, acc);
      add_column_in_order<Asked::kNothing, 0>(d[1], 3, &w, b, x, nullptr, &distance, a, acc);
      w += kBlock;
      if (in.rest != 0) {
        multiply_end<4, true>(in, x, in.whole, w, acc);
        w += kBlock;
      }
      store_tile(args, work, row, output, residuals,
                 requantize_across(acc, vld1q_f32(work.multiplier), output));
    }
  }
}

// Sixteen columns of a row, where every panel is proved. Products of two columns a step; meanwhile the next step's weights
// are put together, and those behind them asked for.
class RowSumsInOrder {
 public:
  RowSumsInOrder(const int8_t* w, const int32_t* bias, ptrdiff_t bytes) {
#pragma GCC unroll 4
    for (int32_t p = 0; p < 4; ++p) {
      w_[p] = w + p * (bytes / 4) + sizeof(int32_t) * kNr;
#pragma GCC unroll 4
      for (int32_t c = 0; c < kNr; ++c) acc_[p][c] = load_first_lane(bias + kNr * p + c);
    }
    ask<0>();
    insert_two(words_, &b_[0], &b_[1]);
    ask<1>();
    before_[0] = before_[1] = vdupq_n_s16(0);
  }
  // Sixteen depths; `More`: others follow.
  template <bool More>
  __attribute__((always_inline)) inline void add(int8x16_t a) {
    step<0, More>(a);
#pragma GCC unroll 4
    for (int32_t p = 0; p < 4; ++p) w_[p] += kBlock;
  }
  void finish(int32x4_t* sums) {
    acc_[3][2] = add_pairs(acc_[3][2], before_[0]);
    acc_[3][3] = add_pairs(acc_[3][3], before_[1]);
#pragma GCC unroll 4
    for (int32_t p = 0; p < 4; ++p) sums[p] = add_across(acc_[p][0], acc_[p][1], acc_[p][2], acc_[p][3]);
  }

 private:
  static constexpr int32_t kSteps = 8;

  // Step I's weights: of panel I / 2, and sixteen depths further on past the last one.
  template <int32_t I, int32_t Word>
  __attribute__((always_inline)) inline void ask_word() {
    load_word<I / kSteps * kBlock + I % 2 * kBlock / 2 + 8 * Word>(w_[I / 2 % 4], &words_[Word]);
  }
  template <int32_t I>
  __attribute__((always_inline)) inline void ask() {
    ask_word<I, 0>();
    ask_word<I, 1>();
    ask_word<I, 2>();
    ask_word<I, 3>();
  }
  template <int32_t I, bool More>
  __attribute__((always_inline)) inline void step(int8x16_t a) {
    if constexpr (I < kSteps) {
      constexpr int32_t kBefore = (I + kSteps - 1) % kSteps;
      constexpr bool kInsert = More || I + 1 < kSteps, kAsk = More || I + 2 < kSteps;
      int8x16_t* const b = b_ + I % 2 * 2;
      int8x16_t* const next = b_ + (I + 1) % 2 * 2;
      int16x8_t p[2];
      multiply_low(a, b[0], &p[0]);
      multiply_low(a, b[1], &p[1]);
      if constexpr (kInsert) {
        insert_low(words_[0], &next[0]);
        insert_low(words_[2], &next[1]);
      }
      add_high(a, b[0], &p[0]);
      if constexpr (kAsk) ask_word<I + 2, 0>();
      if constexpr (kInsert) {
        insert_high(words_[1], &next[0]);
        insert_high(words_[3], &next[1]);
      }
      add_high(a, b[1], &p[1]);
      if constexpr (kAsk) ask_word<I + 2, 2>();
      add_pairs_in_order(before_[0], &acc_[kBefore / 2][kBefore % 2 * 2]);
      if constexpr (kAsk) ask_word<I + 2, 1>();
      add_pairs_in_order(before_[1], &acc_[kBefore / 2][kBefore % 2 * 2 + 1]);
      if constexpr (kAsk) ask_word<I + 2, 3>();
      before_[0] = p[0];
      before_[1] = p[1];
      step<I + 1, More>(a);
    }
  }

  const int8_t* w_[4];
  int32x4_t acc_[4][kNr];
  int16x8_t before_[2];
  int8x16_t b_[4];
  uint64_t words_[4];
};

__attribute__((noinline)) void plain_row_in_order(const GemmS8Args& args, int32_t row) {
  plain_row_by_sums<RowSumsInOrder>(
      args, row, static_cast<ptrdiff_t>(args.k / kKr) * 4 * kBlock + 4 * sizeof(int32_t) * kNr);
}

}  // namespace

void gemm_s8_neon(const GemmS8Args& args);
void gemm_s8_neona53(const GemmS8Args& args);

void gemm_s8_neona53(const GemmS8Args& args) {
  const RowsNeon in = rows_neon(args, args.n);
  const int32_t whole = in.listed && in.whole > 0 ? args.m / 4 * 4 : 0, rest = args.m - whole;
  const bool alone = rest == 1 && plain_row(args);
  if ((whole == 0 && !alone) || !all_panels_fit(args)) return gemm_s8_neon(args);
  if (whole > 0) tiles_in_order(args, in, 0, whole);
  if (alone) return plain_row_in_order(args, whole);
  if (rest > 0) gemm_s8_neon(rows_from(args, whole));
}

}  // namespace intaglio
