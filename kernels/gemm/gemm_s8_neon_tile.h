// Parts that the NEON gemm kernels share: reading ragged ends, and the way from sums to stored codes.
#pragma once

#include "kernels/arithmetic/loads_neon.h"
#include "kernels/arithmetic/requant_neon.h"
#include "kernels/gemm/gemm_s8.h"

namespace intaglio {

// The first `count` < 16 of sixteen codes, then zeros; nothing past them is read.
static inline int8x16_t load_some_neon(const int8_t* from, int32_t count) {
  int8_t some[16] = {};
  int8_t* to = some;
  if ((count & 8) != 0) {
    memcpy(to, from, 8);
    to += 8;
    from += 8;
  }
  if ((count & 4) != 0) {
    memcpy(to, from, 4);
    to += 4;
    from += 4;
  }
  if ((count & 2) != 0) {
    memcpy(to, from, 2);
    to += 2;
    from += 2;
  }
  if ((count & 1) != 0) *to = *from;
  return vld1q_s8(some);
}

// How a whole tile is stored with its residual, if there is one: made once a call, for `Codes` of a tile.
template <typename Codes>
struct SumsNeon {
  AddNeon add;
  size_t residual_stride = 0;
  void (*store)(const int8_t* residual, size_t residual_stride, int8_t* to, size_t to_stride,
                const AddNeon& add, Codes codes) = nullptr;
};

// A tile's work, in locals: stored codes may alias the arguments as far as the compiler knows.
struct WorkNeon {
  const int32_t* bias;
  const float* multiplier;
  int8_t* output;
  size_t output_stride;
  int32_t columns;         // that are left
  bool whole;              // the panel's codes are stored as they are, once they are clamped
  bool direct;             // nor do they need that
  const int8_t* residual;  // of a whole tile's first column; nullptr: none

  // The panel is not full.
  void take_ends() {
    whole = direct = false;
    residual = nullptr;
  }
};

// For the rows [row, row + rows).
static inline WorkNeon start_neon(const GemmS8Args& args, const OutputNeon& output, int32_t row,
                                  int32_t rows) {
  const bool has_rows = args.m - row >= rows, whole = has_rows && args.residual == nullptr;
  const auto at = static_cast<size_t>(row);
  WorkNeon work;
  work.bias = args.folded_bias;
  work.multiplier = args.multiplier;
  work.output = args.output + at * args.output_stride;
  work.output_stride = args.output_stride;
  work.columns = args.n;
  work.whole = whole;
  work.direct = whole && !output.narrow;
  work.residual = has_rows && !whole ? args.residual + at * args.residual_stride : nullptr;
  return work;
}

// How a call's rows are read: sixteen codes at a time where they stand, and what is left of a tap in one load of four,
// eight or sixteen bytes. A tile's rows are copied first where such a load would go past an end, and where so many columns
// read them that loads in pairs save more.
struct RowsNeon {
  ptrdiff_t whole;  // depths in sixteens
  int32_t rest;     // the others
  int32_t load;     // bytes that hold them: 4, 8 or 16; 0: no load may
  bool copied;
  bool table;  // each tap has its own addresses
  bool
      listed;  // all sixteens of a row have one list of distances from its first code, see list_blocks_neon()
};

static inline RowsNeon rows_neon(const GemmS8Args& args, int32_t most_columns_in_place) {
  RowsNeon rows;
  rows.rest = args.k % 16;
  rows.whole = args.k - rows.rest;
  rows.load = args.rows_padded || rows.rest == 0 ? 16 : rows.rest == 4 || rows.rest == 8 ? rows.rest : 0;
  rows.copied = rows.load == 0 || args.n > most_columns_in_place;
  rows.table = !rows.copied && args.taps > 1 && args.tap_offsets == nullptr;
  rows.listed = !rows.copied && !rows.table && (rows.rest == 0 || args.taps == 1);
  return rows;
}

struct BlocksNeon {
  const ptrdiff_t *first, *past, *even;  // even: past the last pair
};

// The distances, in scratch, which no copies of rows need then.
static inline BlocksNeon list_blocks_neon(const GemmS8Args& args, const RowsNeon& rows) {
  auto* const first = static_cast<ptrdiff_t*>(args.scratch);
  ptrdiff_t* to = first;
  const ptrdiff_t none = 0, sixteens = rows.whole / 16;
  const int32_t taps = rows.listed ? args.taps : 0;
  const ptrdiff_t* const offsets = taps > 1 ? args.tap_offsets : &none;
  for (int32_t t = 0; t < taps; ++t, to += sixteens)
    for (ptrdiff_t i = 0; i < sixteens; ++i) to[i] = offsets[t] + 16 * i;
  return {first, to, to - (taps * sixteens & 1)};
}

#if defined(__aarch64__)

// Loads in assembly: gcc 12 makes pointers of its own, and no pairs. Volatile: it would also load where a branch says not to.
static inline int8x16_t load_row_neon(const int8_t* from, ptrdiff_t at) {
  int8x16_t v;
  __asm__ volatile("ldr %q0, [%1, %2]"
                   : "=w"(v)
                   : "r"(from), "r"(at), "m"(*reinterpret_cast<const int8_t(*)[kAnyBytes]>(from)));
  return v;
}
template <int32_t Bytes>
static inline int8x16_t load_end_neon(const int8_t* from, ptrdiff_t at) {
  int8x16_t v;
  const auto& memory = *reinterpret_cast<const int8_t(*)[kAnyBytes]>(from);
  if (Bytes == 16) __asm__ volatile("ldr %q0, [%1, %2]" : "=w"(v) : "r"(from), "r"(at), "m"(memory));
  if (Bytes == 8) __asm__ volatile("ldr %d0, [%1, %2]" : "=w"(v) : "r"(from), "r"(at), "m"(memory));
  if (Bytes == 4) __asm__ volatile("ldr %s0, [%1, %2]" : "=w"(v) : "r"(from), "r"(at), "m"(memory));
  return v;
}
// The ends of a tap's rows.
template <int32_t Rows>
static inline void load_ends_neon(const int8_t* const* x, ptrdiff_t at, int32_t bytes, int8x16_t* a) {
  if (bytes == 16) {
#pragma GCC unroll 8
    for (int32_t r = 0; r < Rows; ++r) a[r] = load_end_neon<16>(x[r], at);
  } else if (bytes == 8) {
#pragma GCC unroll 8
    for (int32_t r = 0; r < Rows; ++r) a[r] = load_end_neon<8>(x[r], at);
  } else {
#pragma GCC unroll 8
    for (int32_t r = 0; r < Rows; ++r) a[r] = load_end_neon<4>(x[r], at);
  }
}

#else

static inline int8x16_t load_row_neon(const int8_t* from, ptrdiff_t at) { return vld1q_s8(from + at); }
template <int32_t Bytes>
static inline int8x16_t load_end_neon(const int8_t* from, ptrdiff_t at) {
  if (Bytes == 16) return vld1q_s8(from + at);
  int8x8_t half = vdup_n_s8(0);
  if (Bytes == 8) half = vld1_s8(from + at);
  if (Bytes == 4) {
    int32_t word;
    memcpy(&word, from + at, sizeof word);
    half = vreinterpret_s8_s32(vset_lane_s32(word, vdup_n_s32(0), 0));
  }
  return vcombine_s8(half, vdup_n_s8(0));
}
template <int32_t Rows>
static inline void load_ends_neon(const int8_t* const* x, ptrdiff_t at, int32_t bytes, int8x16_t* a) {
#pragma GCC unroll 4
  for (int32_t r = 0; r < Rows; ++r)
    a[r] = bytes == 16  ? load_end_neon<16>(x[r], at)
           : bytes == 8 ? load_end_neon<8>(x[r], at)
                        : load_end_neon<4>(x[r], at);
}

#endif

// Biases and multipliers of a last panel that is not full, zeros behind them.
template <int32_t Nr>
struct LastPanelNeon {
  int32_t bias[Nr];
  float multiplier[Nr];
};

template <int32_t Nr, typename Work>
static inline void use_copies_neon(Work* work, LastPanelNeon<Nr>* last) {
  for (int32_t c = 0; c < Nr; ++c) {
    last->bias[c] = c < work->columns ? work->bias[c] : 0;
    last->multiplier[c] = c < work->columns ? work->multiplier[c] : 0.0f;
  }
  work->take_ends();
  work->bias = last->bias;
  work->multiplier = last->multiplier;
}

template <int32_t Nr, typename Work>
static inline void next_panel_neon(Work* work) {
  work->bias += Nr;
  work->multiplier += Nr;
  work->output += Nr;
  work->columns -= Nr;
}

// 16 / Nr rows of Nr codes, of which `rows` and `columns` are moved.
template <int32_t Nr>
static inline void move_rows_neon(int8_t* to, size_t to_stride, const int8_t* from, size_t from_stride,
                                  int32_t rows, size_t columns) {
  constexpr int32_t kRows = 16 / Nr;
  if (rows == kRows && columns == Nr) {
#pragma GCC unroll 4
    for (int32_t r = 0; r < kRows; ++r, to += to_stride, from += from_stride) memcpy(to, from, Nr);
    return;
  }
  for (int32_t r = 0; r < rows; ++r, to += to_stride, from += from_stride) memcpy(to, from, columns);
}

// Codes of 16 / Nr rows from `row` on, Nr columns from `first` on: adds the residual and stores what lies
// inside the tile. Not inlined: the ends and residuals are no part of the products' loops.
template <int32_t Nr>
__attribute__((noinline)) static void store_neon(const GemmS8Args& args, int32_t row, int32_t first,
                                                 int8x16_t codes) {
  const int32_t rows = args.m - row < 16 / Nr ? args.m - row : 16 / Nr;
  const auto columns = static_cast<size_t>(args.n - first < Nr ? args.n - first : Nr);
  const auto at = static_cast<size_t>(row);
  alignas(16) int8_t some[16] = {};
  if (args.residual != nullptr) {
    move_rows_neon<Nr>(some, Nr, args.residual + at * args.residual_stride + first, args.residual_stride,
                       rows, columns);
    codes = AddNeon(*args.add).sum<false>(codes, vld1q_s8(some));
  }
  vst1q_s8(some, codes);
  move_rows_neon<Nr>(args.output + at * args.output_stride + first, args.output_stride, some, Nr, rows,
                     columns);
}

// Copies rows [row, row + Rows) to [taps][sixteens][Rows][16], zeros behind a tap's last depth.
template <int32_t Rows>
__attribute__((noinline)) static void copy_rows_neon(const GemmS8Args& args, const RowsNeon& in, int32_t mr,
                                                     int32_t row, int8_t* to) {
  const RowsNeon rows = in;
  const int32_t taps = args.taps;
  for (int32_t t = 0; t < taps; ++t) {
    const int8_t* x[Rows];
    ptrdiff_t at = args.tap_offsets != nullptr ? args.tap_offsets[t] : 0;
    const int8_t* const* const from =
        args.rows + (args.tap_offsets != nullptr ? 0 : static_cast<ptrdiff_t>(t) * mr) + row;
#pragma GCC unroll 8
    for (int32_t r = 0; r < Rows; ++r) x[r] = from[r];
    for (const ptrdiff_t end = at + rows.whole; at != end; at += 16, to += 16 * Rows)
#pragma GCC unroll 8
      for (int32_t r = 0; r < Rows; ++r) vst1q_s8(to + 16 * r, load_row_neon(x[r], at));
    if (rows.rest == 0) continue;
    for (int32_t r = 0; r < Rows; ++r, to += 16) {
      int8x16_t a;
      if (rows.load == 0) {
        a = load_some_neon(x[r] + at, rows.rest);
      } else {
        load_ends_neon<1>(x + r, at, rows.load, &a);
      }
      vst1q_s8(to, a);
    }
  }
}

#if defined(__aarch64__)

// Eight columns of a tile of 2 * Vectors rows, in registers also where it is passed on: v[i] holds
// rows 2 * i and 2 * i + 1.
template <int32_t Vectors>
struct TileCodes {
  int8x16_t v[Vectors];
};

// A whole tile's rows with the residual.
template <int32_t Vectors, bool Short>
__attribute__((noinline)) static void store_sums_neon(const int8_t* residual, size_t residual_stride,
                                                      int8_t* to, size_t to_stride, const AddNeon& by,
                                                      TileCodes<Vectors> codes) {
  const AddNeon add = by;
#pragma GCC unroll 4
  for (int32_t i = 0; i < Vectors; ++i) {
    const int8x16_t sums = add.sum<Short>(codes.v[i], load_halves_neon(residual_stride, &residual));
    store_half_neon<0>(sums, to_stride, &to);
    store_half_neon<1>(sums, to_stride, &to);
  }
}

template <int32_t Vectors>
static inline SumsNeon<TileCodes<Vectors>> make_sums_neon(const GemmS8Args& args) {
  SumsNeon<TileCodes<Vectors>> sums;
  if (args.residual != nullptr) {
    sums.add = AddNeon(*args.add);
    sums.residual_stride = args.residual_stride;
    sums.store =
        AddNeon::is_short(*args.add) ? store_sums_neon<Vectors, true> : store_sums_neon<Vectors, false>;
  }
  return sums;
}

// Those of a tile that is not whole. Not inlined, as store_neon.
template <int32_t Vectors>
__attribute__((noinline)) static void store_ends_neon(const GemmS8Args& args, int32_t row, int32_t first,
                                                      TileCodes<Vectors> codes) {
  for (int32_t i = 0; i < Vectors && row + 2 * i < args.m; ++i)
    store_neon<8>(args, row + 2 * i, first, codes.v[i]);
}

template <int32_t Vectors>
__attribute__((always_inline)) static inline void store_whole_neon(const WorkNeon& work,
                                                                   const TileCodes<Vectors>& codes) {
  int8_t* to = work.output;
#pragma GCC unroll 6
  for (int32_t i = 0; i < Vectors; ++i) {
    store_half_neon<0>(codes.v[i], work.output_stride, &to);
    store_half_neon<1>(codes.v[i], work.output_stride, &to);
  }
}

// Clamps wide codes and stores them where they lie inside the tile, with the residual.
template <int32_t Vectors>
__attribute__((always_inline)) static inline void store_rows_neon(const GemmS8Args& args, int32_t row,
                                                                  const WorkNeon& work,
                                                                  const OutputNeon& output,
                                                                  const SumsNeon<TileCodes<Vectors>>& sums,
                                                                  TileCodes<Vectors> codes) {
  if (__builtin_expect(work.direct, 1)) return store_whole_neon<Vectors>(work, codes);
#pragma GCC unroll 6
  for (int32_t i = 0; i < Vectors; ++i) codes.v[i] = clamp_neon(codes.v[i], output);
  if (work.whole) return store_whole_neon<Vectors>(work, codes);
  const int32_t first = args.n - work.columns;
  if (work.residual == nullptr) return store_ends_neon<Vectors>(args, row, first, codes);
  sums.store(work.residual + first, sums.residual_stride, work.output, work.output_stride, sums.add, codes);
}

#endif

}  // namespace intaglio
