// The lists of products of codes that leave in FP32, and the scalar kernels.
#include "kernels/arithmetic/output_f32.h"
#include "kernels/compiled_isa.h"
#include "kernels/gemm/gemm_s8_f32.h"
#include "kernels/gemm/gemm_s8_windows.h"

namespace intaglio {

#define ITG_GEMM_S8_F32(isa, ...) void gemm_s8_f32_##isa(const GemmS8F32Args& args);
#include "kernels/gemm/gemm_s8_f32_kernels.inc"
#undef ITG_GEMM_S8_F32

namespace {

#define ITG_GEMM_S8_F32(isa, ...)               \
  ITG_KERNEL(GemmS8F32Kernel, gemm_s8_f32, isa, \
             ITG_COMPILED(isa, k.f32_function = gemm_s8_f32_##isa;) __VA_ARGS__)
constexpr GemmS8F32Kernel kGemmS8F32Kernels[] = {
#include "kernels/gemm/gemm_s8_f32_kernels.inc"
};
#undef ITG_GEMM_S8_F32

}  // namespace

ITG_KERNEL_LIST(GemmS8F32Kernel, gemm_s8_f32, kGemmS8F32Kernels)
ITG_FIRST_ALLOWED(gemm_s8_f32, kGemmS8F32Kernels)

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

#define ITG_GEMV_S8_F32(isa) GemvS8F32 gemv_s8_f32_##isa;
#include "kernels/gemm/gemv_s8_f32_kernels.inc"
#undef ITG_GEMV_S8_F32

namespace {

#define ITG_GEMV_S8_F32(isa) \
  ITG_KERNEL(GemvS8F32Kernel, gemv_s8_f32, isa, ITG_COMPILED(isa, k.function = gemv_s8_f32_##isa;))
constexpr GemvS8F32Kernel kGemvS8F32Kernels[] = {
#include "kernels/gemm/gemv_s8_f32_kernels.inc"
};
#undef ITG_GEMV_S8_F32

}  // namespace

ITG_KERNEL_LIST(GemvS8F32Kernel, gemv_s8_f32, kGemvS8F32Kernels)
ITG_FIRST_ALLOWED(gemv_s8_f32, kGemvS8F32Kernels)

GemvS8F32 gemv_s8_f32_scalar;

void gemv_s8_f32_scalar(const int8_t* x, const int8_t* w, const int32_t* bias, const float* multiplier,
                        float* y, int32_t n, int32_t k) {
  for (int32_t c = 0; c < n; ++c, w += k) {
    auto acc = static_cast<uint32_t>(bias[c]);
    for (int32_t i = 0; i < k; ++i) acc += static_cast<uint32_t>(x[i] * w[i]);
    y[c] = static_cast<float>(static_cast<int32_t>(acc)) * multiplier[c];
  }
}

}  // namespace intaglio
