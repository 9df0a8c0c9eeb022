#include "kernels/arithmetic/output_f32.h"
#include "kernels/gemm/gemm_s8_f32.h"
#include "kernels/gemm/gemm_s8_windows.h"

namespace intaglio {

void gemm_s8_f32_scalar(const GemmS8F32Args& args);

namespace {

// Unsigned: sums in between may wrap.
uint32_t dot(const int8_t* x, const int8_t* w, int32_t count, uint32_t acc) {
  for (int32_t i = 0; i < count; ++i) acc += static_cast<uint32_t>(int32_t{x[i]} * w[i]);
  return acc;
}

uint32_t dot_same(int32_t x, const int8_t* w, int32_t count, uint32_t acc) {
  for (int32_t i = 0; i < count; ++i) acc += static_cast<uint32_t>(x * w[i]);
  return acc;
}

}  // namespace

void gemm_s8_f32_scalar(const GemmS8F32Args& args) {
  // Rows at one distance are windows of one tap.
  const GemmS8Windows row = {
      1, args.m, static_cast<int32_t>(args.row_distance), 1, args.m, 1, 1, 1, 1, 1, 1, 0, 0, 0};
  const bool plain = args.windows == nullptr;
  const GemmS8Windows& windows = plain ? row : *args.windows;
  const int32_t k = plain ? args.taps * args.k : args.k;
  const WindowRuns runs(windows, k);
  WindowWalk walk(windows, plain ? 0 : args.first_window);
  float* y = args.y;
  for (int32_t r = 0; r < args.m; ++r, y += args.y_stride) {
    const WindowAt at = walk.next();
    const auto* w = static_cast<const int8_t*>(args.weights);
    for (int32_t c = 0; c < args.n; ++c) {
      auto acc = static_cast<uint32_t>(args.folded_bias[c]);
      for_window(
          windows, args.first_row, runs, k, at,
          [&](const int8_t* from, int32_t count) {
            acc = dot(from, w, count, acc);
            w += count;
          },
          [&](int32_t count) {
            acc = dot_same(windows.zero_point, w, count, acc);
            w += count;
          });
      y[c] = finish_f32(static_cast<float>(static_cast<int32_t>(acc)) * args.multiplier[c], args.clamp);
    }
  }
}

}  // namespace intaglio
