#include <immintrin.h>

#include "kernels/arithmetic/output_f32_avx512.h"
#include "kernels/gemm/gemm_s8_avx512_tile.h"
#include "kernels/gemm/gemm_s8_f32.h"

namespace intaglio {
namespace {

struct Reals {
  float* y;
  size_t y_stride;
  int32_t rows, columns;  // that are left
  ClampF32 clamp;
};

// M rows of 16 V columns.
template <int32_t M, int32_t V>
void tile(const Tile& t, const Reals& out) {
  __m512i acc[M][V];
  sum_tile<M, V>(t, acc);
  const FinishSums finish(out.clamp);
  __mmask16 lanes[V];
#pragma GCC unroll 4
  for (int32_t v = 0; v < V; ++v)
    lanes[v] = out.columns > kLanes * v ? first_lanes(out.columns - kLanes * v) : __mmask16{0};
  float* y = out.y;
#pragma GCC unroll 14
  for (int32_t r = 0; r < M; ++r, y += out.y_stride) {
    if (r >= out.rows) return;
    __m512 real[V];
#pragma GCC unroll 4
    for (int32_t v = 0; v < V; ++v) real[v] = finish(acc[r][v], _mm512_loadu_ps(t.panel + 64 * (V + v)));
    if constexpr (V == 4) order_quads(real);
#pragma GCC unroll 4
    for (int32_t v = 0; v < V; ++v) _mm512_mask_storeu_ps(y + kLanes * v, lanes[v], real[v]);
  }
}

// For 64, 32 and 16 columns. Rows past the last are read, up to a multiple of fourteen, and not stored.
using TileFunction = void (*)(const Tile& t, const Reals& out);
constexpr int32_t kTileRows[3] = {7, 14, 14};
constexpr TileFunction kTiles[3] = {tile<kTileRows[0], 4>, tile<kTileRows[1], 2>, tile<kTileRows[2], 1>};

}  // namespace

void gemm_s8_f32_avx512vnni(const GemmS8F32Args& args);

void gemm_s8_f32_avx512vnni(const GemmS8F32Args& args) {
  Tile t{};
  t.taps = args.taps;
  constexpr ptrdiff_t kNoOffset = 0;
  const bool table = args.tap_offsets == nullptr;
  t.offsets = table ? &kNoOffset : args.tap_offsets;
  t.next_rows = table ? kMr : 0;
  t.next_step = table ? 0 : 1;
  t.k = args.rows_padded ? (args.k + 3) & ~3 : args.k;
  const auto* panel = static_cast<const int8_t*>(args.weights);
  const ptrdiff_t column_bytes = 8 + static_cast<ptrdiff_t>(args.taps) * ((args.k + 3) & ~3);
  for (int32_t first = 0, width; first < args.n; first += width) {
    const int32_t ahead = args.n - first, shape = ahead > 48 ? 0 : ahead > 16 ? 1 : 2;
    width = kNr >> shape;
    t.panel = panel;
    panel += column_bytes * width;
    for (int32_t r = 0; r < args.m; r += kTileRows[shape]) {
      t.rows = args.rows + r;
      kTiles[shape](t, {args.y + static_cast<size_t>(r) * args.y_stride + first, args.y_stride, args.m - r,
                        ahead < width ? ahead : width, args.clamp});
    }
  }
}

// Four channels at a time, 64 codes a step. vpdpbusd takes one side without sign: the weights + 128. What
// that adds, 128 times the sum of the codes, is the same for every channel.

namespace {

constexpr int32_t kStep = 64;  // codes of a vector
constexpr __mmask64 kWhole = ~__mmask64{0};

// The remaining codes, as lanes; zeros behind them add nothing, whatever their weights are.
inline __mmask64 lanes(int32_t left) { return left < kStep ? kWhole >> (kStep - left) : kWhole; }

// Sums of the weights' rows [w + c * k), c < Channels, in sixteen lanes each. What is `ahead` is read
// next.
template <int32_t Channels>
inline void sum_rows(const int8_t* x, const int8_t* w, int32_t k, ptrdiff_t ahead, __m512i* sums) {
  const __m512i half = _mm512_set1_epi8(-128);
#pragma GCC unroll 4
  for (int32_t c = 0; c < Channels; ++c) sums[c] = _mm512_setzero_si512();
  const auto add = [&](int32_t i, __mmask64 some) {
    const __m512i codes = _mm512_maskz_loadu_epi8(some, x + i);
#pragma GCC unroll 4
    for (int32_t c = 0; c < Channels; ++c) {
      const __m512i weights = _mm512_xor_si512(_mm512_maskz_loadu_epi8(some, w + ptrdiff_t{c} * k + i), half);
      sums[c] = _mm512_dpbusd_epi32(sums[c], weights, codes);
    }
  };
  int32_t i = 0;
  for (; i + kStep <= k; i += kStep) {
#pragma GCC unroll 4
    for (int32_t line = 0; line < kStep * Channels; line += 64)
      _mm_prefetch(w + ahead + ptrdiff_t{i} * Channels + line, _MM_HINT_T0);
    add(i, kWhole);
  }
  if (i < k) add(i, lanes(k - i));
}

inline __m256i halves(__m512i v) {
  return _mm256_add_epi32(_mm512_castsi512_si256(v), _mm512_extracti64x4_epi64(v, 1));
}

// Each of four vectors' lanes added up.
inline __m128i add_lanes(const __m512i* sums) {
  const __m256i four = _mm256_hadd_epi32(_mm256_hadd_epi32(halves(sums[0]), halves(sums[1])),
                                         _mm256_hadd_epi32(halves(sums[2]), halves(sums[3])));
  return _mm_add_epi32(_mm256_castsi256_si128(four), _mm256_extracti128_si256(four, 1));
}

// 128 times the sum of the codes, in each lane; may wrap as acc may.
inline __m128i excess_of(const int8_t* x, int32_t k) {
  __m512i sums[4] = {};
  for (int32_t i = 0; i < k; i += kStep)
    sums[0] =
        _mm512_dpbusd_epi32(sums[0], _mm512_set1_epi8(-128), _mm512_maskz_loadu_epi8(lanes(k - i), x + i));
  return _mm_shuffle_epi32(add_lanes(sums), 0);
}

}  // namespace

GemvS8F32 gemv_s8_f32_avx512vnni;

void gemv_s8_f32_avx512vnni(const int8_t* x, const int8_t* w, const int32_t* bias, const float* multiplier,
                            float* y, int32_t n, int32_t k) {
  const __m128i excess = excess_of(x, k);
  __m512i sums[4];
  int32_t c = 0;
  for (; c + 4 <= n; c += 4, w += 4 * ptrdiff_t{k}) {
    sum_rows<4>(x, w, k, c + 8 <= n ? 4 * ptrdiff_t{k} : 0, sums);
    const __m128i biases = _mm_loadu_si128(reinterpret_cast<const __m128i*>(bias + c));
    const __m128i acc = _mm_add_epi32(_mm_sub_epi32(add_lanes(sums), excess), biases);
    _mm_storeu_ps(y + c, _mm_mul_ps(_mm_cvtepi32_ps(acc), _mm_loadu_ps(multiplier + c)));
  }
  sums[1] = sums[2] = sums[3] = _mm512_setzero_si512();
  for (; c < n; ++c, w += k) {
    sum_rows<1>(x, w, k, 0, sums);
    const __m128i acc = _mm_add_epi32(_mm_sub_epi32(add_lanes(sums), excess), _mm_cvtsi32_si128(bias[c]));
    _mm_store_ss(y + c, _mm_mul_ss(_mm_cvtepi32_ps(acc), _mm_load_ss(multiplier + c)));
  }
}

}  // namespace intaglio
