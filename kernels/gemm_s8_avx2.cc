// vpmaddubsw without saturation, see gemm_s8_pairs.h. A tile's rows are copied as x + 128, one after the
// other's taps, into scratch [24][depth rounded up to 16]; a panel whose order is not the natural one
// shuffles six of them at a time, behind those. Tiles of up to 6 x 16.
#include "kernels/gemm_s8_pairs.h"
#include "kernels/gemm_s8_rows_avx2.h"

namespace intaglio {
namespace {

constexpr int32_t kMr = 24;

inline __m128i load_8(const void* p) { return _mm_loadl_epi64(static_cast<const __m128i*>(p)); }
inline __m128i load_16(const void* p) { return _mm_loadu_si128(static_cast<const __m128i*>(p)); }
inline __m256i load_32(const int8_t* p) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)); }
inline void store_16(void* p, __m128i v) { _mm_storeu_si128(static_cast<__m128i*>(p), v); }

// k codes, their top bits flipped. Pieces overlap: nothing past the end, on either side.
void copy_row(const int8_t* x, int32_t k, uint8_t* out) {
  const __m128i top = _mm_set1_epi8(-128);
  if (k >= 16) {
    for (int32_t i = 0; i + 16 <= k; i += 16) store_16(out + i, _mm_xor_si128(load_16(x + i), top));
    store_16(out + k - 16, _mm_xor_si128(load_16(x + k - 16), top));
  } else if (k >= 8) {
    _mm_storel_epi64(reinterpret_cast<__m128i*>(out), _mm_xor_si128(load_8(x), top));
    _mm_storel_epi64(reinterpret_cast<__m128i*>(out + k - 8), _mm_xor_si128(load_8(x + k - 8), top));
  } else {
    for (int32_t i = 0; i < k; ++i) out[i] = static_cast<uint8_t>(x[i] + 128);
  }
}

void shuffle_rows(const uint8_t* x, int32_t rows, ptrdiff_t step, const uint8_t* order, uint8_t* out) {
  for (int32_t r = 0; r < rows; ++r, x += step, out += step)
    for (ptrdiff_t i = 0; i < step; i += kPairsBlock)
      store_16(out + i, _mm_shuffle_epi8(load_16(x + i), load_16(order + i)));
}

// Sums of four products.
inline void add_products(__m256i& acc, __m256i x, __m256i w, __m256i ones) {
  acc = _mm256_add_epi32(acc, _mm256_madd_epi16(_mm256_maddubs_epi16(x, w), ones));
}

struct Panel {
  const int8_t* head;  // biases
  const uint8_t* runs;
  const int8_t* weights;
  int32_t quads;
};

// M rows; those past `count` repeat the last one.
template <int32_t M>
void tile(const Panel& panel, const uint8_t* rows, ptrdiff_t step, int32_t count, __m256i* sums) {
  const __m256i ones = _mm256_set1_epi16(1);
  const uint8_t* x[M];
  __m256i acc[M][2];
#pragma GCC unroll 4
  for (int32_t r = 0; r < M; ++r) {
    x[r] = rows + (r < count ? r : count - 1) * step;
    acc[r][0] = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(panel.head));
    acc[r][1] = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(panel.head + 32));
  }
  const int8_t* w = panel.weights;
  const uint8_t* run = panel.runs;
  ptrdiff_t i = 0;
  const ptrdiff_t depth = ptrdiff_t{4} * panel.quads;
  for (;;) {
    const int32_t safe = *run++;
    for (const ptrdiff_t end = i + 4 * safe; i < end; i += 4, w += 64) {
      const __m256i w0 = load_32(w), w1 = load_32(w + 32);
#pragma GCC unroll 4
      for (int32_t r = 0; r < M; ++r) {
        int32_t quad;
        memcpy(&quad, x[r] + i, sizeof quad);
        const __m256i spread = _mm256_set1_epi32(quad);
        add_products(acc[r][0], spread, w0, ones);
        add_products(acc[r][1], spread, w1, ones);
      }
    }
    if (i == depth) break;
    if (safe == kPairsRun) continue;
    const __m256i w0 = load_32(w), w1 = load_32(w + 32);
    // Even codes, then odd ones.
    for (uint32_t half = 0x00ff00ffu; half != 0; half = half << 8 & 0xff00ff00u) {
#pragma GCC unroll 4
      for (int32_t r = 0; r < M; ++r) {
        uint32_t quad;
        memcpy(&quad, x[r] + i, sizeof quad);
        const __m256i spread = _mm256_set1_epi32(static_cast<int32_t>(quad & half));
        add_products(acc[r][0], spread, w0, ones);
        add_products(acc[r][1], spread, w1, ones);
      }
    }
    i += 4;
    w += 64;
    if (i == depth) break;
  }
#pragma GCC unroll 4
  for (int32_t r = 0; r < M; ++r) {
    _mm256_store_si256(sums + 2 * r, acc[r][0]);
    _mm256_store_si256(sums + 2 * r + 1, acc[r][1]);
  }
}

}  // namespace

void gemm_s8_avx2(const GemmS8Args& args);

void gemm_s8_avx2(const GemmS8Args& args) {
  const PairsLayout layout = pairs_layout(args.taps, args.k);
  const ptrdiff_t step = (layout.depth + kPairsBlock - 1) / kPairsBlock * kPairsBlock;
  const int32_t tap_depth = layout.depth / args.taps;
  auto* const rows = static_cast<uint8_t*>(args.scratch);
  uint8_t* const shuffled = rows + kMr * step;
  for (int32_t r = 0; r < args.m; ++r)
    for (int32_t t = 0; t < args.taps; ++t)
      copy_row(args.rows[static_cast<ptrdiff_t>(t) * kMr + r], args.k, rows + r * step + t * tap_depth);
  alignas(32) __m256i sums[2 * kMr];
  const auto* start = static_cast<const int8_t*>(args.weights);
  for (int32_t first = 0; first < args.n; first += kAvx2Columns, start += layout.bytes) {
    const auto* const bytes = reinterpret_cast<const uint8_t*>(start);
    const Panel panel = {start, bytes + layout.runs, start + layout.weights, layout.depth / 4};
    const bool natural = bytes[layout.natural] != 0;
    for (int32_t r = 0; r < args.m; r += kPairsRows) {
      const int32_t count = args.m - r < kPairsRows ? args.m - r : kPairsRows;
      const uint8_t* x = rows + r * step;
      if (!natural) {
        shuffle_rows(x, count, step, bytes + layout.order, shuffled);
        x = shuffled;
      }
      __m256i* const to = sums + 2 * r;
      count > 2   ? tile<4>(panel, x, step, count, to)
      : count > 1 ? tile<2>(panel, x, step, count, to)
                  : tile<1>(panel, x, step, count, to);
    }
    avx2_store_rows(args, first, start + 64, sums);
  }
}

}  // namespace intaglio
