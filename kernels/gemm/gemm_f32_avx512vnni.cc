// Tiles of up to 7 x 48, eight of them one below the other in a call: rows are set up faster in long runs.
// Weights are packed a vector of sixteen columns at a time, so that a tile takes three such panels side by
// side, or what is left, without a padded column more. These stay in the second-level cache while the rows
// pass, and the next ones are fetched there meanwhile, a line a step.
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

}  // namespace

void gemm_f32_avx512vnni(const GemmF32Args& args);

void gemm_f32_avx512vnni(const GemmF32Args& args) {
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
