// Products on 256 bits, int8 to int8 and to FP32.
//
// vpmaddubsw without saturation, see gemm_s8_pairs.h. For each panel the rows of one or more tiles are
// shuffled into its order, as unsigned codes, ahead of the products: a quad is then spread by its load alone,
// which leaves the ports to the multiplications (shuffled in registers it was no faster, by way of memory
// block by block a fifth slower).
#include <immintrin.h>

#include "kernels/gemm/gemm_s8_pairs.h"
#include "kernels/gemm/gemm_s8_rows_avx2.h"

namespace intaglio {
namespace {

constexpr int32_t kMr = 56, kRows = 4;

inline __m128i load_8(const void* p) { return _mm_loadl_epi64(static_cast<const __m128i*>(p)); }
inline __m128i load_16(const void* p) { return _mm_loadu_si128(static_cast<const __m128i*>(p)); }
inline __m256i join(__m128i low, __m128i high) {
  return _mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1);
}
inline __m256i load_32(const int8_t* p) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)); }
inline void store_32(void* p, __m256i v) { _mm256_storeu_si256(static_cast<__m256i*>(p), v); }
inline void store_16(void* p, __m128i v) { _mm_storeu_si128(static_cast<__m128i*>(p), v); }

// k codes. Pieces overlap: nothing past the end, on either side.
__attribute__((always_inline)) inline void copy_row(const int8_t* x, int32_t k, int8_t* out) {
  if (k >= 16) {
    for (int32_t i = 0; i + 16 <= k; i += 16) store_16(out + i, load_16(x + i));
    store_16(out + k - 16, load_16(x + k - 16));
  } else if (k >= 8) {
    _mm_storel_epi64(reinterpret_cast<__m128i*>(out), load_8(x));
    _mm_storel_epi64(reinterpret_cast<__m128i*>(out + k - 8), load_8(x + k - 8));
  } else {
    for (int32_t i = 0; i < k; ++i) out[i] = x[i];
  }
}

// Sums of four products. In assembly: gcc would add the products of several depths to each other first, which
// takes more registers than there are.
inline void add_products(__m256i& acc, __m256i x, __m256i w, __m256i ones) {
  __m256i sums;
  __asm__(
      "vpmaddubsw %[w], %[x], %[sums]\n"
      "vpmaddwd %[ones], %[sums], %[sums]\n"
      "vpaddd %[sums], %[acc], %[acc]"
      : [acc] "+x"(acc), [sums] "=&x"(sums)
      : [x] "x"(x), [w] "x"(w), [ones] "x"(ones));
}

// How a panel wants its rows.
struct Shuffle {
  const int8_t *order, *signs;
};

// Rows of taps of k codes each, sixteen of them always in one tap, or the last of its only tap.
__attribute__((always_inline)) inline void shuffle_rows(const int8_t* const* rows, int32_t count, int32_t k,
                                                        const PairsLayout& layout, const Shuffle& how,
                                                        uint8_t* out) {
  int32_t at = 0;
  for (int32_t i = 0; i < layout.depth; i += 32, out += 32) {
    const __m256i order = load_32(how.order + i), signs = load_32(how.signs + i);
    const int8_t *const *const low = rows, *const *high = rows;
    const int32_t low_at = at;
    const auto next = [&] {
      at += kPairsDepths;
      if (at < k) return;
      at = 0;
      rows += kMr;
    };
    next();
    int32_t high_at = low_at;
    if (i + kPairsDepths < layout.depth) {  // else the last one is loaded twice
      high = rows;
      high_at = at;
      next();
    }
    uint8_t* to = out;
    const auto store = [&](__m256i codes) {
      store_32(to, _mm256_xor_si256(_mm256_shuffle_epi8(codes, order), signs));
      to += layout.row;
    };
    if (high == low && high_at != low_at) {
      for (int32_t r = 0; r < count; ++r) store(load_32(low[r] + low_at));
    } else {
      for (int32_t r = 0; r < count; ++r) store(join(load_16(low[r] + low_at), load_16(high[r] + high_at)));
    }
  }
}

struct Panel {
  const int8_t* head;  // biases
  const int32_t* quads;
  const int8_t* weights;
  PairsCounts counts;
  int32_t quad_count;
};

// Sums of eight products, four at a time.
inline void add_octet(__m256i& acc, __m256i x0, __m256i x1, __m256i w0, const int8_t* w1, __m256i ones) {
  __m256i sums, more;
  __asm__(
      "vpmaddubsw %[w0], %[x0], %[sums]\n"
      "vpmaddubsw %[w1], %[x1], %[more]\n"
      "vpaddw %[more], %[sums], %[sums]\n"
      "vpmaddwd %[ones], %[sums], %[sums]\n"
      "vpaddd %[sums], %[acc], %[acc]"
      : [acc] "+x"(acc), [sums] "=&x"(sums), [more] "=&x"(more)
      : [x0] "x"(x0), [x1] "x"(x1), [w0] "x"(w0), [w1] "m"(*reinterpret_cast<const __m256i_u*>(w1)),
        [ones] "x"(ones));
}

inline __m256i spread_4(const uint8_t* p) {
  int32_t codes;
  memcpy(&codes, p, sizeof codes);
  return _mm256_set1_epi32(codes);
}

// M shuffled rows, V vectors of columns.
template <int32_t M, int32_t V>
__attribute__((noinline)) void tile(const Panel& panel, const uint8_t* x, ptrdiff_t step, __m256i* sums) {
  const __m256i ones = _mm256_set1_epi16(1);
  __m256i acc[M][V];
#pragma GCC unroll 4
  for (int32_t r = 0; r < M; ++r) {
    acc[r][0] = V == 2 ? load_32(panel.head) : join(load_16(panel.head), load_16(panel.head + 32));
    if (V == 2) acc[r][V - 1] = load_32(panel.head + 32);
  }
  const int8_t* w = panel.weights;
  const int32_t* quad = panel.quads;
  for (const int32_t* const end = quad + 2 * panel.counts.double_quads; quad != end; quad += 2, w += 128) {
    const uint8_t* const from = x + *quad;
    const __m256i w0 = load_32(w), w1 = load_32(w + 32);
#pragma GCC unroll 4
    for (int32_t r = 0; r < M; ++r) {
      const __m256i x0 = spread_4(from + r * step), x1 = spread_4(from + r * step + 4);
      add_octet(acc[r][0], x0, x1, w0, w + 64, ones);
      if (V == 2) add_octet(acc[r][V - 1], x0, x1, w1, w + 96, ones);
    }
  }
  for (const int32_t* const end = quad + panel.counts.safe; quad != end; ++quad, w += 64) {
    const uint8_t* const from = x + *quad;
    const __m256i w0 = load_32(w), w1 = load_32(w + 32);
#pragma GCC unroll 4
    for (int32_t r = 0; r < M; ++r) {
      const __m256i spread = spread_4(from + r * step);
      add_products(acc[r][0], spread, w0, ones);
      if (V == 2) add_products(acc[r][V - 1], spread, w1, ones);
    }
  }
  const __m256i even_codes = _mm256_set1_epi16(0xff);
  for (const int32_t* const end = panel.quads + panel.quad_count; quad != end; ++quad, w += 64) {
    const uint8_t* const from = x + *quad;
    const __m256i w0 = load_32(w), w1 = load_32(w + 32);
#pragma GCC unroll 4
    for (int32_t r = 0; r < M; ++r) {
      const __m256i spread = spread_4(from + r * step), odd = _mm256_andnot_si256(even_codes, spread);
      const __m256i even = _mm256_and_si256(even_codes, spread);
      add_products(acc[r][0], even, w0, ones);
      add_products(acc[r][0], odd, w0, ones);
      if (V == 1) continue;
      add_products(acc[r][V - 1], even, w1, ones);
      add_products(acc[r][V - 1], odd, w1, ones);
    }
  }
#pragma GCC unroll 4
  for (int32_t r = 0; r < M; ++r) {
    _mm256_store_si256(sums + 2 * r, acc[r][0]);
    _mm256_store_si256(sums + 2 * r + 1, V == 2 ? acc[r][V - 1] : _mm256_permute4x64_epi64(acc[r][0], 0xee));
  }
}

// store(first, multipliers, sums): the sums of one panel, of columns from `first` on; two vectors a row, in the order of
// `lanes` 8 (gemm_s8.h).
template <typename Store>
__attribute__((always_inline)) inline void multiply_panels(const GemmS8Args& args, Store store) {
  const PairsLayout layout = pairs_layout(args.taps, args.k);
  const ptrdiff_t step = layout.row;
  auto* const shuffled = static_cast<uint8_t*>(args.scratch);
  const int32_t group = pairs_group(layout, kMr);
  const int8_t* const* rows = args.rows;
  const int8_t* joined[kMr];
  int32_t k = args.k;
  if (!pairs_in_place(k) && args.taps == 1 && args.rows_padded) {
    k = layout.depth;
  } else if (!pairs_in_place(k)) {
    const int32_t tap_depth = layout.depth / args.taps;
    auto* const copies = static_cast<int8_t*>(args.scratch) + group * step;
    for (int32_t r = 0; r < args.m; ++r) {
      joined[r] = copies + r * step;
      for (int32_t t = 0; t < args.taps; ++t)
        copy_row(args.rows[static_cast<ptrdiff_t>(t) * kMr + r], args.k, copies + r * step + t * tap_depth);
    }
    rows = joined;
    k = layout.depth;
  }
  alignas(32) __m256i sums[2 * kMr];
  // The next panel is prefetched into the second-level cache, a share for each tile; not where all of them
  // stay there.
  const bool fetches = args.m > kRows && layout.bytes * args.n > 128 * 1024 * kPairsColumns;
  const ptrdiff_t share = fetches ? layout.bytes / ((args.m + kRows - 1) / kRows) + 64 : 0;
  const auto* start = static_cast<const int8_t*>(args.weights);
  for (int32_t first = 0; first < args.n; first += kPairsColumns, start += layout.bytes) {
    Panel panel = {start,
                   reinterpret_cast<const int32_t*>(start + layout.quads),
                   start + layout.weights,
                   {},
                   layout.depth / 4};
    memcpy(&panel.counts, start + layout.counts, sizeof panel.counts);
    const int8_t* ahead = start + layout.bytes;
    const Shuffle how = {start + layout.order, start + layout.signs};
    for (int32_t r = 0; r < args.m; r += group) {
      const int32_t count = args.m - r < group ? args.m - r : group;
      shuffle_rows(rows + r, count, k, layout, how, shuffled);
      for (int32_t i = 0; i < count; i += kRows) {
        for (const int8_t* const past = ahead + share; ahead < past; ahead += 64)
          _mm_prefetch(ahead, _MM_HINT_T1);
        const uint8_t* const x = shuffled + i * step;
        __m256i* const to = sums + 2 * (r + i);
        if (args.n - first <= kPairsColumns / 2) {
          tile<kRows, 1>(panel, x, step, to);  // past the last row: of what scratch holds, unused
        } else if (count - i >= kRows) {
          tile<kRows, 2>(panel, x, step, to);
        } else {
          for (int32_t row = 0; row < count - i; ++row) tile<1, 2>(panel, x + row * step, step, to + 2 * row);
        }
      }
    }
    store(first, start + 64, sums);
  }
}

}  // namespace

void gemm_s8_avx2(const GemmS8Args& args);

void gemm_s8_avx2(const GemmS8Args& args) {
  multiply_panels(args, [&](int32_t first, const int8_t* multipliers, __m256i* sums) {
    avx2_store_rows(args, first, multipliers, sums);
  });
}

void gemm_s8_f32_avx2(const GemmS8F32Args& args);

void gemm_s8_f32_avx2(const GemmS8F32Args& args) {
  multiply_panels(args, [&](int32_t first, const int8_t* multipliers, __m256i* sums) {
    avx2_store_reals(args, first, multipliers, sums);
  });
}

}  // namespace intaglio
