// Tiles of up to 7 x 48, eight of them one below the other in a call: rows are set up faster in long runs.
// Weights are packed a vector of sixteen columns at a time, so that a tile takes three such panels side by
// side, or what is left, without a padded column more. These stay in the second-level cache while the rows
// pass, and the next ones are fetched there meanwhile, a line a step. Where a call has four columns at most, sixteen rows are a
// vector.
#include <immintrin.h>

#include "kernels/arithmetic/output_f32_avx512.h"
#include "kernels/gemm/gemm_f32.h"

namespace intaglio {
namespace {

constexpr int32_t kMr = 56, kRows = 7, kLanes = 16;

// Rows [row, row + M), columns [first, first + columns), columns <= 16 * V.
template <int32_t M, int32_t V>
void tile(const GemmF32Args& args, int32_t row, int32_t first, int32_t columns) {
  const ptrdiff_t panel = static_cast<ptrdiff_t>(args.taps) * args.k * kLanes;
  const float* w = args.weights + first / kLanes * panel;
  __mmask16 mask[V];
  __m512 acc[M][V];
#pragma GCC unroll 3
  for (int32_t v = 0; v < V; ++v) {
    mask[v] = first_lanes(columns - kLanes * v);
    acc[0][v] = args.bias != nullptr ? _mm512_maskz_loadu_ps(mask[v], args.bias + first + kLanes * v)
                                     : _mm512_setzero_ps();
#pragma GCC unroll 7
    for (int32_t r = 1; r < M; ++r) acc[r][v] = acc[0][v];
  }
  const float* const* rows = args.rows + row;
  const float* ahead = w + V * panel + row * V * panel / args.m;
  for (int32_t t = 0; t < args.taps; ++t, rows += kMr) {
    const float* x[M];
#pragma GCC unroll 7
    for (int32_t r = 0; r < M; ++r) x[r] = rows[r];
    for (ptrdiff_t i = 0; i < args.k; ++i, w += kLanes) {
      _mm_prefetch(ahead, _MM_HINT_T1);
      ahead += kLanes;
      __m512 weights[V];
#pragma GCC unroll 3
      for (int32_t v = 0; v < V; ++v) weights[v] = _mm512_loadu_ps(w + v * panel);
#pragma GCC unroll 7
      for (int32_t r = 0; r < M; ++r) {
        const __m512 spread = _mm512_set1_ps(x[r][i]);
#pragma GCC unroll 3
        for (int32_t v = 0; v < V; ++v) acc[r][v] = _mm512_fmadd_ps(spread, weights[v], acc[r][v]);
      }
    }
  }
  if (args.residual != nullptr) {
    const float* from = args.residual + static_cast<size_t>(row) * args.residual_stride + first;
#pragma GCC unroll 7
    for (int32_t r = 0; r < M; ++r, from += args.residual_stride)
#pragma GCC unroll 3
      for (int32_t v = 0; v < V; ++v)
        acc[r][v] = _mm512_add_ps(_mm512_add_ps(acc[r][v], _mm512_setzero_ps()),
                                  _mm512_maskz_loadu_ps(mask[v], from + kLanes * v));
  }
  const FinishF32 finish(args.clamp);
  float* to = args.output + static_cast<size_t>(row) * args.output_stride + first;
#pragma GCC unroll 7
  for (int32_t r = 0; r < M; ++r, to += args.output_stride)
#pragma GCC unroll 3
    for (int32_t v = 0; v < V; ++v) _mm512_mask_storeu_ps(to + kLanes * v, mask[v], finish(acc[r][v]));
}

template <int32_t V>
void all_rows(const GemmF32Args& args, int32_t first, int32_t columns) {
  int32_t row = 0;
  for (; row + kRows <= args.m; row += kRows) tile<kRows, V>(args, row, first, columns);
  // Four rows left and more: a tile that begins with some of the one before, unless what it adds may be gone.
  if (row > 0 && args.m - row > 3 && args.residual == nullptr) {
    tile<kRows, V>(args, args.m - kRows, first, columns);
    return;
  }
  for (; row < args.m; ++row) tile<1, V>(args, row, first, columns);
}

// Four depths of sixteen rows, a vector for each depth.
inline void transposed(const float* const* x, ptrdiff_t i, __m512* depths) {
  __m512 rows[4];
#pragma GCC unroll 4
  for (int32_t q = 0; q < 4; ++q) {
    rows[q] = _mm512_broadcast_f32x4(_mm_loadu_ps(x[q] + i));
    rows[q] = _mm512_mask_broadcast_f32x4(rows[q], 0x00f0, _mm_loadu_ps(x[4 + q] + i));
    rows[q] = _mm512_mask_broadcast_f32x4(rows[q], 0x0f00, _mm_loadu_ps(x[8 + q] + i));
    rows[q] = _mm512_mask_broadcast_f32x4(rows[q], 0xf000, _mm_loadu_ps(x[12 + q] + i));
  }
  const __m512 low01 = _mm512_unpacklo_ps(rows[0], rows[1]), high01 = _mm512_unpackhi_ps(rows[0], rows[1]);
  const __m512 low23 = _mm512_unpacklo_ps(rows[2], rows[3]), high23 = _mm512_unpackhi_ps(rows[2], rows[3]);
  depths[0] = _mm512_shuffle_ps(low01, low23, 0x44);
  depths[1] = _mm512_shuffle_ps(low01, low23, 0xee);
  depths[2] = _mm512_shuffle_ps(high01, high23, 0x44);
  depths[3] = _mm512_shuffle_ps(high01, high23, 0xee);
}

// Few columns: a vector holds sixteen rows of one, where a tile would leave most lanes idle.
template <int32_t N>
void narrow(const GemmF32Args& args) {
  const FinishF32 finish(args.clamp);
  for (int32_t row = 0; row < args.m; row += kLanes) {
    const int32_t count = args.m - row < kLanes ? args.m - row : kLanes;
    const float* w = args.weights;
    __m512 acc[N];
#pragma GCC unroll 4
    for (int32_t c = 0; c < N; ++c) acc[c] = _mm512_set1_ps(args.bias != nullptr ? args.bias[c] : 0.0f);
    const auto add = [&](__m512 depth) {
#pragma GCC unroll 4
      for (int32_t c = 0; c < N; ++c) acc[c] = _mm512_fmadd_ps(depth, _mm512_set1_ps(w[c]), acc[c]);
      w += kLanes;
    };
    for (int32_t t = 0; t < args.taps; ++t) {
      const float* x[kLanes];
      for (int32_t r = 0; r < kLanes; ++r) x[r] = args.rows[t * kMr + row + (r < count ? r : count - 1)];
      ptrdiff_t i = 0;
      for (; i + 4 <= args.k; i += 4) {
        __m512 depths[4];
        transposed(x, i, depths);
#pragma GCC unroll 4
        for (int32_t d = 0; d < 4; ++d) add(depths[d]);
      }
      for (; i < args.k; ++i) {
        float depth[kLanes];
        for (int32_t r = 0; r < kLanes; ++r) depth[r] = x[r][i];
        add(_mm512_loadu_ps(depth));
      }
    }
#pragma GCC unroll 4
    for (int32_t c = 0; c < N; ++c) {
      float column[kLanes] = {};
      if (args.residual != nullptr) {
        const float* from = args.residual + static_cast<size_t>(row) * args.residual_stride + c;
        for (int32_t r = 0; r < count; ++r, from += args.residual_stride) column[r] = *from;
        acc[c] = _mm512_add_ps(_mm512_add_ps(acc[c], _mm512_setzero_ps()), _mm512_loadu_ps(column));
      }
      _mm512_storeu_ps(column, finish(acc[c]));
      float* to = args.output + static_cast<size_t>(row) * args.output_stride + c;
      for (int32_t r = 0; r < count; ++r, to += args.output_stride) *to = column[r];
    }
  }
}

}  // namespace

void gemm_f32_avx512vnni(const GemmF32Args& args);

void gemm_f32_avx512vnni(const GemmF32Args& args) {
  if (args.n <= 4 && args.m >= kLanes / 2 && args.k >= 8) {
    constexpr void (*kNarrow[])(const GemmF32Args&) = {narrow<1>, narrow<2>, narrow<3>, narrow<4>};
    kNarrow[args.n - 1](args);
    return;
  }
  for (int32_t first = 0; first < args.n;) {
    const int32_t left = args.n - first, vectors = (left + kLanes - 1) / kLanes;
    if (vectors == 3 || vectors > 4) {
      all_rows<3>(args, first, left);
      first += 3 * kLanes;
    } else if (vectors > 1) {  // four are two and two
      all_rows<2>(args, first, left);
      first += 2 * kLanes;
    } else {
      all_rows<1>(args, first, left);
      first += kLanes;
    }
  }
}

}  // namespace intaglio
