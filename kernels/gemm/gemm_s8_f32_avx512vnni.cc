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

}  // namespace intaglio
