// Tiles of 6 x 16, eight of them one below the other in a call: rows are set up faster in long runs, and
// weights stay in the cache while they pass.
#include <immintrin.h>

#include "kernels/arithmetic/output_f32_avx2.h"
#include "kernels/gemm/gemm_f32.h"

namespace intaglio {
namespace {

constexpr int32_t kMr = 48, kRows = 6, kNr = 16;

// Columns [first, first + count) of a tile, count <= 8; what lies past is neither read nor written.
inline void store_half(const GemmF32Args& args, int32_t row, int32_t first, int32_t count, __m256 v) {
  const __m256i mask = first_lanes(count);
  v = _mm256_add_ps(v, _mm256_setzero_ps());
  if (args.residual != nullptr)
    v = _mm256_add_ps(
        v, _mm256_maskload_ps(args.residual + static_cast<size_t>(row) * args.residual_stride + first, mask));
  v = FinishF32(args.clamp)(v);
  float* const to = args.output + static_cast<size_t>(row) * args.output_stride + first;
  if (count >= 8) {
    _mm256_storeu_ps(to, v);
  } else {
    _mm256_maskstore_ps(to, mask, v);
  }
}

// One function for all row counts: its size matters more than the trip through memory.
__attribute__((noinline)) void store_rows(const GemmF32Args& args, int32_t row, int32_t rows, int32_t first,
                                          int32_t columns, const __m256* sums) {
  for (int32_t r = 0; r < rows; ++r) {
    store_half(args, row + r, first, columns, sums[2 * r]);
    if (columns > 8) store_half(args, row + r, first + 8, columns - 8, sums[2 * r + 1]);
  }
}

// Rows [row, row + M) of the panel that starts at column `first`.
template <int32_t M>
void tile(const GemmF32Args& args, int32_t row, int32_t first) {
  const float* w = args.weights + static_cast<ptrdiff_t>(first) * args.taps * args.k;
  alignas(32) __m256 sums[2 * M];
  const int32_t columns = args.n - first < kNr ? args.n - first : kNr;
  __m256 acc[M][2];
  acc[0][0] = acc[0][1] = _mm256_setzero_ps();
  if (args.bias != nullptr) {
    acc[0][0] = _mm256_maskload_ps(args.bias + first, first_lanes(columns));
    if (columns > 8) acc[0][1] = _mm256_maskload_ps(args.bias + first + 8, first_lanes(columns - 8));
  }
#pragma GCC unroll 8
  for (int32_t r = 1; r < M; ++r) {
    acc[r][0] = acc[0][0];
    acc[r][1] = acc[0][1];
  }
  const ptrdiff_t panel = static_cast<ptrdiff_t>(args.taps) * args.k * kNr;
  const float* ahead = w + panel + row * panel / args.m;  // the next panel, a part for each tile
  for (int32_t t = 0; t < args.taps; ++t) {
    const float* const* const rows = args.rows + static_cast<ptrdiff_t>(t) * kMr + row;
    const float* x[M];
#pragma GCC unroll 8
    for (int32_t r = 0; r < M; ++r) x[r] = rows[r];
    for (ptrdiff_t i = 0; i < args.k; ++i) {
      const __m256 w0 = _mm256_loadu_ps(w), w1 = _mm256_loadu_ps(w + 8);
      w += kNr;
      _mm_prefetch(ahead, _MM_HINT_T1);
      ahead += kNr;
#pragma GCC unroll 8
      for (int32_t r = 0; r < M; ++r) {
        const __m256 broadcast = _mm256_broadcast_ss(x[r] + i);
        acc[r][0] = _mm256_fmadd_ps(broadcast, w0, acc[r][0]);
        acc[r][1] = _mm256_fmadd_ps(broadcast, w1, acc[r][1]);
      }
    }
  }
#pragma GCC unroll 8
  for (int32_t r = 0; r < M; ++r) {
    sums[2 * r] = acc[r][0];
    sums[2 * r + 1] = acc[r][1];
  }
  store_rows(args, row, M, first, columns, sums);
}

}  // namespace

void gemm_f32_avx2(const GemmF32Args& args);

void gemm_f32_avx2(const GemmF32Args& args) {
  for (int32_t first = 0; first < args.n; first += kNr) {
    int32_t row = 0;
    for (; row + kRows <= args.m; row += kRows) tile<kRows>(args, row, first);
    // Three rows left and more: a tile that begins with some of the one before, unless what it adds may be
    // gone.
    if (row > 0 && args.m - row > 2 && args.residual == nullptr) {
      tile<kRows>(args, args.m - kRows, first);
      row = args.m;
    }
    for (; row < args.m; ++row) tile<1>(args, row, first);
  }
}

}  // namespace intaglio
