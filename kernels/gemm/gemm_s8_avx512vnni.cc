// Products of codes: tiles of 512 bits, and strips of them.
#include "kernels/gemm/gemm_s8_avx512_tile.h"

namespace intaglio {
namespace {

// How a tile becomes codes, see requant.h.
struct Output {
  __m512i order;       // of the packs, as dwords
  __m512i zero_point;  // int16
  __m512i lowest, highest;
  bool clamps;            // beyond what int8 does
  bool least_zero_point;  // an instruction less; where nothing is negative, as behind ReLU
  float highest_product;  // before the zero point
};

inline __mmask64 first_bytes(int32_t count) { return ~uint64_t{0} >> (64 - count); }

inline Output make_output(const OutputS8& requant) {
  const auto lo = static_cast<int32_t>(requant.lo_minus_zero_point) + requant.zero_point;
  const auto hi = static_cast<int32_t>(requant.hi_minus_zero_point) + requant.zero_point;
  Output out;
  out.order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  out.zero_point = _mm512_set1_epi16(static_cast<int16_t>(requant.zero_point));
  out.lowest = _mm512_set1_epi8(static_cast<int8_t>(lo));
  out.highest = _mm512_set1_epi8(static_cast<int8_t>(hi));
  out.least_zero_point = requant.zero_point == -128;
  out.clamps = lo > -128 || hi < 127;
  out.highest_product = requant.hi_minus_zero_point;
  return out;
}

// Sixteen codes a vector of sums, in order. Clamping follows rounding here: both keep order, so nothing
// differs.
template <int32_t V>
inline __m512i narrow(const __m512i* q, const Output& out) {
  const __m512i ab = _mm512_packs_epi32(q[0], q[1]), cd = _mm512_packs_epi32(q[2], q[3]);
  __m512i codes;
  if (out.least_zero_point) {
    codes = _mm512_xor_si512(_mm512_packus_epi16(ab, cd), _mm512_set1_epi8(-128));
  } else {
    __m512i zero_point = out.zero_point;
    __asm__("" : "+v"(zero_point));  // once: gcc would load it for each
    codes = _mm512_packs_epi16(_mm512_adds_epi16(ab, zero_point), _mm512_adds_epi16(cd, zero_point));
  }
  if (V < 4) codes = _mm512_permutexvar_epi32(out.order, codes);
  if (out.clamps) codes = _mm512_max_epi8(_mm512_min_epi8(codes, out.highest), out.lowest);
  return codes;
}

// The i-th row of 16 V codes.
template <int32_t V>
inline void store(int8_t* y, int32_t i, __m512i codes) {
  if (V == 4) {
    _mm512_storeu_si512(y, codes);
  } else if (V == 2) {
    const __m256i half = i == 0 ? _mm512_castsi512_si256(codes) : _mm512_extracti64x4_epi64(codes, 1);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(y), half);
  } else {
    const __m128i quarter = i == 0   ? _mm512_castsi512_si128(codes)
                            : i == 1 ? _mm512_extracti32x4_epi32(codes, 1)
                            : i == 2 ? _mm512_extracti32x4_epi32(codes, 2)
                                     : _mm512_extracti32x4_epi32(codes, 3);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(y), quarter);
  }
}

// Codes of the rows from r on that share a vector. `Steep`: products may pass what int32 holds.
template <int32_t M, int32_t V, bool Steep>
__attribute__((always_inline)) inline __m512i leave(const __m512i (*acc)[V], int32_t r,
                                                    const int8_t* multiplier, const Output& out) {
  __m512i q[4];
#pragma GCC unroll 4
  for (int32_t i = 0; i < 4; ++i) {
    const int32_t v = i % V, row = r + i / V;
    if (row >= M) {
      q[i] = q[i - V];
      continue;
    }
    __m512 product = _mm512_mul_ps(_mm512_cvtepi32_ps(acc[row][v]), _mm512_loadu_ps(multiplier + 64 * v));
    // Too small for int32 becomes its least value of itself.
    if (Steep) product = _mm512_min_ps(product, _mm512_set1_ps(out.highest_product));
    q[i] = _mm512_cvtps_epi32(product);
  }
  return narrow<V>(q, out);
}

// m >= M rows of 16 V columns, M at a time, where no product passes int32 and k is a multiple of 4. What
// follows a tile's last product would not overlap the next tile, whose products wait behind it: so the rows
// are stored one by one, each between its sums and its first products of the next tile. The next panel is fetched into
// the second-level cache meanwhile, a line a step: it would be late otherwise, in a tile that is 64 columns
// wide.
template <int32_t M, int32_t V>
__attribute__((noinline)) void strip(const Tile& t, int32_t m, const Output& out) {
  constexpr int32_t kShare = 4 / V;  // rows that one vector stores
  const int8_t* const multiplier = t.panel + 64 * V;
  const int8_t* const weights = t.panel + 2 * 64 * V;
  const ptrdiff_t depth = t.k;
  __m512i acc[M][V];
#pragma GCC unroll 4
  for (int32_t v = 0; v < V; ++v) acc[0][v] = _mm512_loadu_si512(t.panel + 64 * v);
#pragma GCC unroll 14
  for (int32_t r = 1; r < M; ++r)
#pragma GCC unroll 4
    for (int32_t v = 0; v < V; ++v) acc[r][v] = acc[0][v];
  constexpr int32_t kHeld = held_columns(M, V);

  int8_t* y = t.output;
  const int8_t* ahead = weights + 16 * V * t.taps * depth;
  ptrdiff_t i = 0;
  for (int32_t first = 0;;) {
    const int8_t* w = weights + 16 * V * i;
    const int8_t* const* rows = t.rows + first;
    for (int32_t taps = t.taps; taps > 0; --taps) {
      const int8_t* x[M];
#pragma GCC unroll 14
      for (int32_t r = 0; r < M; ++r) x[r] = address(rows + r);
      int32_t outside = 0;
      while (outside < M && rows[outside] == t.zero_row) ++outside;
      if (outside == M) {
        w += 16 * V * (depth - i);
        i = depth;
      }
      for (; i < depth; i += 4) {
        _mm_prefetch(ahead, _MM_HINT_T1);
        ahead += 64;
        __m512i columns[V];
#pragma GCC unroll 4
        for (int32_t v = 0; v < kHeld; ++v) columns[v] = _mm512_loadu_si512(w + 64 * v);
#pragma GCC unroll 14
        for (int32_t r = 0; r < M; ++r) dot_row<V, kHeld>(acc[r], spread(x[r] + i), columns, w);
        w += 64 * V;
      }
      i = 0;
      rows += kMr;
    }

    // The last tile is computed once more, a step of it, into nothing.
    const bool done = first == m - M;
    const int32_t step = done ? 0 : m - first < 2 * M ? m - M - first : M;
    first += step;
    __m512i columns[V];
#pragma GCC unroll 4
    for (int32_t v = 0; v < kHeld; ++v) {
      columns[v] = _mm512_loadu_si512(weights + 64 * v);
      __asm__("" : "+v"(columns[v]));  // once: gcc would load them for each row
    }
    int8_t* to = y;
#pragma GCC unroll 14
    for (int32_t r = 0; r < M; r += kShare) {
      const __m512i codes = leave<M, V, false>(acc, r, multiplier, out);
#pragma GCC unroll 4
      for (int32_t j = 0; j < kShare; ++j) {
        if (r + j >= M) break;
        store<V>(to, j, codes);
        to += t.output_stride;
#pragma GCC unroll 4
        for (int32_t v = 0; v < V; ++v) acc[r + j][v] = _mm512_loadu_si512(t.panel + 64 * v);
        dot_row<V, kHeld>(acc[r + j], spread(address(t.rows + first + r + j)), columns, weights);
      }
    }
    if (done) return;
    y += static_cast<size_t>(step) * t.output_stride;
    i = 4;
  }
}

// M rows of 16 V columns. `Steep`: products may pass what int32 holds.
template <int32_t M, int32_t V, bool Steep>
void tile(const Tile& t, const Output& out) {
  __m512i acc[M][V];
  sum_tile<M, V>(t, acc);
  constexpr int32_t kShare = 4 / V;  // rows that one vector stores
  const int8_t* const multiplier = t.panel + 64 * V;
  int8_t* y = t.output;
#pragma GCC unroll 14
  for (int32_t r = 0; r < M; r += kShare) {
    const __m512i codes = leave<M, V, Steep>(acc, r, multiplier, out);
#pragma GCC unroll 4
    for (int32_t i = 0; i < kShare; ++i) {
      if (r + i >= M) break;
      store<V>(y, i, codes);
      y += t.output_stride;
    }
  }
}

// For 64, 32 and 16 columns: many rows, and one. Another count takes the larger tile and is stored by way of the
// stack: few tiles are odd, and each is text. 64 columns have strips for many rows, and need no more than
// these: one row keeps the multipliers nearly as busy. Steep columns go row by row.
using TileFunction = void (*)(const Tile& t, const Output& out);
constexpr int32_t kStrip = 7, kMany = 14;
constexpr TileFunction kMost[3] = {nullptr, tile<kMany, 2, false>, tile<kMany, 1, false>};
constexpr TileFunction kOne[3] = {tile<1, 4, true>, tile<1, 2, true>, tile<1, 1, true>};

// output = add_s8(codes, residual), rows of codes kNr apart. A row that does not end with a whole vector
// is stored with a mask, for which the next row's residual would wait if it were in the output.
__attribute__((noinline)) void add_rows(const int8_t* codes, const int8_t* residual, size_t residual_stride,
                                        int8_t* output, size_t output_stride, int32_t rows, int32_t columns,
                                        const AddS8& p) {
  // vpdpwssd takes 16 bits: longer multipliers are cut in two.
  const bool cut = ((p.a_multiplier | p.b_multiplier) >> 15) != 0;
  const int32_t low_bits = cut ? 255 : 32767;
  const __m512i low_factors =
      _mm512_set1_epi32((p.b_multiplier & low_bits) * 65536 + (p.a_multiplier & low_bits));
  const __m512i high_factors = _mm512_set1_epi32((p.b_multiplier >> 8) * 65536 + (p.a_multiplier >> 8));
  // For codes + 128.
  const __m512i offset =
      _mm512_set1_epi32((int32_t{1} << (p.right_shift - 1)) - (p.a_zero_point + 128) * p.a_multiplier -
                        (p.b_zero_point + 128) * p.b_multiplier);
  const __m128i shift = _mm_cvtsi32_si128(p.right_shift);
  const __m512i zero = _mm512_setzero_si512(), flip = _mm512_set1_epi8(-128);
  const __m512i zero_point = _mm512_set1_epi16(static_cast<int16_t>(p.zero_point));
  const __m512i lo = _mm512_set1_epi8(static_cast<int8_t>(p.lo));
  const __m512i hi = _mm512_set1_epi8(static_cast<int8_t>(p.hi));
  for (int32_t r = 0; r < rows; ++r) {
    for (int32_t c = 0; c < columns; c += kNr) {
      const int32_t count = columns - c;
      const __mmask64 mask = first_bytes(count < kNr ? count : kNr);
      const __m512i a = _mm512_xor_si512(_mm512_loadu_si512(codes + kNr * r + c), flip);
      const __m512i b = _mm512_xor_si512(
          count < kNr ? _mm512_maskz_loadu_epi8(mask, residual + c) : _mm512_loadu_si512(residual + c), flip);
      const __m512i low = _mm512_unpacklo_epi8(a, b), high = _mm512_unpackhi_epi8(a, b);
      const __m512i pairs[4] = {_mm512_unpacklo_epi8(low, zero), _mm512_unpackhi_epi8(low, zero),
                                _mm512_unpacklo_epi8(high, zero), _mm512_unpackhi_epi8(high, zero)};
      __m512i sums[4];
#pragma GCC unroll 4
      for (int32_t i = 0; i < 4; ++i) sums[i] = _mm512_dpwssd_epi32(offset, pairs[i], low_factors);
      if (cut)
#pragma GCC unroll 4
        for (int32_t i = 0; i < 4; ++i)
          sums[i] =
              _mm512_add_epi32(sums[i], _mm512_slli_epi32(_mm512_madd_epi16(pairs[i], high_factors), 8));
#pragma GCC unroll 4
      for (__m512i& sum : sums) sum = _mm512_sra_epi32(sum, shift);
      __m512i q = _mm512_packs_epi16(_mm512_adds_epi16(_mm512_packs_epi32(sums[0], sums[1]), zero_point),
                                     _mm512_adds_epi16(_mm512_packs_epi32(sums[2], sums[3]), zero_point));
      q = _mm512_min_epi8(_mm512_max_epi8(q, lo), hi);
      if (count < kNr) {
        _mm512_mask_storeu_epi8(output + c, mask, q);
      } else {
        _mm512_storeu_si512(output + c, q);
      }
    }
    residual += residual_stride;
    output += output_stride;
  }
}

__attribute__((noinline)) void copy_rows(const int8_t* codes, int8_t* output, size_t output_stride,
                                         int32_t rows, int32_t columns) {
  const __mmask64 mask = first_bytes(columns);
  for (int32_t r = 0; r < rows; ++r, codes += kNr, output += output_stride)
    _mm512_mask_storeu_epi8(output, mask, _mm512_loadu_si512(codes));
}

// Below 1 each, every product fits int32.
inline bool is_steep(const int8_t* multiplier, int32_t vectors) {
  __m512 most = _mm512_loadu_ps(multiplier);
  for (int32_t v = 1; v < vectors; ++v) most = _mm512_max_ps(most, _mm512_loadu_ps(multiplier + 64 * v));
  return _mm512_cmp_ps_mask(most, _mm512_set1_ps(1.0f), _CMP_GE_OQ) != 0;
}

}  // namespace

void gemm_s8_avx512vnni(const GemmS8Args& args);

void gemm_s8_avx512vnni(const GemmS8Args& args) {
  const Output out = make_output(args.requant);
  Tile t;
  t.taps = args.taps;
  constexpr ptrdiff_t kNoOffset = 0;
  const bool table = args.tap_offsets == nullptr;
  t.offsets = table ? &kNoOffset : args.tap_offsets;
  t.next_rows = table ? kMr : 0;
  t.next_step = table ? 0 : 1;
  t.k = args.rows_padded ? (args.k + 3) & ~3 : args.k;
  t.zero_row = args.zero_row;
  const auto* panel = static_cast<const int8_t*>(args.weights);
  const ptrdiff_t column_bytes = 8 + static_cast<ptrdiff_t>(args.taps) * ((args.k + 3) & ~3);
  const bool adds = args.residual != nullptr;
  alignas(64) int8_t codes[kMr * kNr];
  for (int32_t first = 0, width; first < args.n; first += width) {
    const int32_t ahead = args.n - first, shape = ahead > 48 ? 0 : ahead > 16 ? 1 : 2;
    width = kNr >> shape;
    const int32_t columns = ahead < width ? ahead : width, vectors = width / kLanes;
    t.panel = panel;
    panel += column_bytes * width;
    const bool steep = is_steep(t.panel + 64 * vectors, vectors);
    int8_t* const y = args.output + first;
    const bool aligned = !adds && columns == width;
    // Rows that follow one another everywhere are stored as one: each row's last bytes are where the next one
    // begins.
    const auto dense = static_cast<size_t>(columns);
    const bool flat = !aligned && args.output_stride == dense && (!adds || args.residual_stride == dense);
    const int32_t stride = flat ? columns : kNr;
    int32_t direct = 0;  // rows that need no more
    const bool strips = shape == 0 && !steep && args.m >= kStrip && (t.k & 3) == 0;
    // A last strip of 4 rows and more begins with some of the one before.
    const int32_t in_strips = !strips ? 0 : args.m % kStrip > 3 ? args.m : args.m / kStrip * kStrip;
    if (strips) {
      t.rows = args.rows;
      t.output = aligned ? y : codes;
      t.output_stride = aligned ? args.output_stride : static_cast<size_t>(stride);
      strip<kStrip, 4>(t, in_strips, out);
      direct = aligned ? in_strips : 0;
    }
    for (int32_t r = in_strips, rows; r < args.m; r += rows) {
      const int32_t left = args.m - r;
      const bool one = steep || shape == 0 || left < 5;
      rows = one ? 1 : left < kMany ? left : kMany;
      t.rows = args.rows + r;
      if (aligned && (one || rows == kMany)) {
        t.output = y + static_cast<size_t>(r) * args.output_stride;
        t.output_stride = args.output_stride;
        direct = r + rows;
      } else {
        t.output = codes + r * stride;
        t.output_stride = static_cast<size_t>(stride);
      }
      (one ? kOne : kMost)[shape](t, out);
    }
    if (adds) {
      // Whole vectors need no trip through the stack.
      const bool whole = flat || columns == kNr;
      add_rows(codes, args.residual + first, args.residual_stride, whole ? y : codes,
               whole ? args.output_stride : kNr, flat ? 1 : args.m, flat ? args.m * columns : columns,
               *args.add);
      if (whole) continue;
    }
    if (flat) {
      memcpy(y, codes, static_cast<size_t>(args.m) * dense);
    } else if (direct < args.m) {
      copy_rows(codes + direct * kNr, y + static_cast<size_t>(direct) * args.output_stride,
                args.output_stride, args.m - direct, columns);
    }
  }
}

}  // namespace intaglio
