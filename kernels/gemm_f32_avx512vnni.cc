// Tiles of up to 12 x 32, the AVX2 kernel's chains on vectors of sixteen.
#include <immintrin.h>

#include "kernels/gemm_f32.h"

namespace intaglio {
namespace {

constexpr int32_t kMr = 12, kNr = 32, kLanes = 16;

// The first `count` of sixteen lanes.
inline __mmask16 lanes(int32_t count) {
  return count >= kLanes ? static_cast<__mmask16>(0xffff) : static_cast<__mmask16>((1u << count) - 1u);
}

// finish_f32 on sixteen lanes: maxps and minps give their second operand where the first is not greater or
// less.
inline __m512 finish(__m512 v, const ClampF32& clamp) {
  const __mmask16 nan = _mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q);
  __m512 y = _mm512_max_ps(v, _mm512_set1_ps(clamp.lo));
  y = _mm512_add_ps(_mm512_min_ps(y, _mm512_set1_ps(clamp.hi)), _mm512_setzero_ps());
  return _mm512_mask_mov_ps(y, nan, _mm512_castsi512_ps(_mm512_set1_epi32(0x7fc00000)));
}

// One function for all row counts: its size matters more than the trip through memory.
__attribute__((noinline)) void store_rows(const GemmF32Args& args, int32_t row, int32_t rows, int32_t first,
                                          int32_t columns, int32_t vectors, const __m512* sums) {
  for (int32_t r = 0; r < rows; ++r) {
    for (int32_t j = 0; j < vectors; ++j) {
      const __mmask16 mask = lanes(columns - kLanes * j);
      const int32_t column = first + kLanes * j;
      __m512 v = _mm512_add_ps(*sums++, _mm512_setzero_ps());
      if (args.residual != nullptr) {
        const float* const from =
            args.residual + static_cast<size_t>(row + r) * args.residual_stride + column;
        v = _mm512_add_ps(v, _mm512_maskz_loadu_ps(mask, from));
      }
      _mm512_mask_storeu_ps(args.output + static_cast<size_t>(row + r) * args.output_stride + column, mask,
                            finish(v, args.clamp));
    }
  }
}

template <int32_t M, int32_t V>
void panel(const GemmF32Args& args, const float* w, int32_t row, int32_t first, int32_t columns) {
  __m512 acc[M][V];
#pragma GCC unroll 2
  for (int32_t v = 0; v < V; ++v) {
    acc[0][v] = args.bias != nullptr
                    ? _mm512_maskz_loadu_ps(lanes(columns - kLanes * v), args.bias + first + kLanes * v)
                    : _mm512_setzero_ps();
#pragma GCC unroll 12
    for (int32_t r = 1; r < M; ++r) acc[r][v] = acc[0][v];
  }
  for (int32_t t = 0; t < args.taps; ++t) {
    const float* const* const rows = args.rows + static_cast<ptrdiff_t>(t) * kMr + row;
    const float* x[M];
#pragma GCC unroll 12
    for (int32_t r = 0; r < M; ++r) x[r] = rows[r];
    for (ptrdiff_t i = 0; i < args.k; ++i) {
      __m512 weights[V];
#pragma GCC unroll 2
      for (int32_t v = 0; v < V; ++v) weights[v] = _mm512_loadu_ps(w + kLanes * v);
      w += kNr;
#pragma GCC unroll 12
      for (int32_t r = 0; r < M; ++r) {
        const __m512 spread = _mm512_set1_ps(x[r][i]);
#pragma GCC unroll 2
        for (int32_t v = 0; v < V; ++v) acc[r][v] = _mm512_fmadd_ps(spread, weights[v], acc[r][v]);
      }
    }
  }
  alignas(64) __m512 sums[M * V];
#pragma GCC unroll 12
  for (int32_t r = 0; r < M; ++r)
#pragma GCC unroll 2
    for (int32_t v = 0; v < V; ++v) sums[V * r + v] = acc[r][v];
  store_rows(args, row, M, first, columns, V, sums);
}

template <int32_t V>
void tile(const GemmF32Args& args, const float* w, int32_t first, int32_t columns) {
  int32_t row = 0;
  if (args.m == kMr) return panel<12, V>(args, w, 0, first, columns);
  for (; row + 4 <= args.m; row += 4) panel<4, V>(args, w, row, first, columns);
  for (; row < args.m; ++row) panel<1, V>(args, w, row, first, columns);
}

}  // namespace

void gemm_f32_avx512vnni(const GemmF32Args& args);

void gemm_f32_avx512vnni(const GemmF32Args& args) {
  const float* w = args.weights;
  for (int32_t first = 0; first < args.n; first += kNr) {
    const int32_t columns = args.n - first < kNr ? args.n - first : kNr;
    if (columns > kLanes) {
      tile<2>(args, w, first, columns);
    } else {
      tile<1>(args, w, first, columns);
    }
    w += static_cast<ptrdiff_t>(args.taps) * args.k * kNr;
  }
}

}  // namespace intaglio
