#include "kernels/gemm/gemm_s16.h"

#include <cstring>

#include "kernels/arithmetic/constant_checks.h"
#include "kernels/compiled_isa.h"

namespace intaglio {

#define ITG_GEMM_S16(isa, ...) void gemm_s16_##isa(const GemmS16Args& args);
#include "kernels/gemm/gemm_s16_kernels.inc"
#undef ITG_GEMM_S16

namespace {

#define ITG_GEMM_S16(isa, ...) \
  ITG_KERNEL(GemmS16Kernel, gemm_s16, isa, ITG_COMPILED(isa, k.function = gemm_s16_##isa;) __VA_ARGS__)
constexpr GemmS16Kernel kGemmS16Kernels[] = {
#include "kernels/gemm/gemm_s16_kernels.inc"
};
#undef ITG_GEMM_S16
constexpr int32_t kHeadBytes = 16;

int64_t panel_depths(const GemmS16Kernel& kernel, int32_t taps, int32_t k) {
  return int64_t{taps} * ((k + kernel.kr - 1) / kernel.kr * kernel.kr);
}

// Whether no sum of this column leaves 32 bits.
bool fits(const int8_t* column, int64_t depths, int64_t bias) {
  const int64_t peak = int64_t{sum_weights(column, depths).magnitude} << 15;
  return (bias < 0 ? -bias : bias) + peak <= INT32_MAX;
}

}  // namespace

ITG_KERNEL_LIST(GemmS16Kernel, gemm_s16, kGemmS16Kernels)
ITG_FIRST_ALLOWED(gemm_s16, kGemmS16Kernels)

int64_t gemm_s16_packed_bytes(const GemmS16Kernel& kernel, int32_t n, int32_t taps, int32_t k) {
  if (!kPacksWeights || !kernel.packs) return 0;
  const int64_t panel = kHeadBytes + kernel.nr * panel_depths(kernel, taps, k);
  return (n + kernel.nr - 1) / kernel.nr * panel;
}

void gemm_s16_pack(const GemmS16Kernel& kernel, const int8_t* weights, const int32_t* bias, int32_t n,
                   int32_t taps, int32_t k, int8_t* packed) {
  if (!kPacksWeights || !kernel.packs) return;
  const ptrdiff_t column = static_cast<ptrdiff_t>(taps) * k;
  for (int32_t first = 0; first < n; first += kernel.nr) {
    int32_t head[kHeadBytes / 4] = {1};
    for (int32_t c = first; c < n && c < first + kernel.nr; ++c)
      if (!fits(weights + c * column, column, bias[c])) head[0] = 0;
    memcpy(packed, head, kHeadBytes);
    packed += kHeadBytes;
    for (int32_t t = 0; t < taps; ++t)
      for (int32_t i = 0; i < k; i += kernel.kr)
        for (int32_t c = first; c < first + kernel.nr; ++c)
          for (int32_t j = i; j < i + kernel.kr; ++j)
            *packed++ = c < n && j < k ? weights[c * column + static_cast<ptrdiff_t>(t) * k + j] : int8_t{0};
  }
}

#define ITG_MATMUL_S16(isa, columns) void matmul_s16_##isa(const MatmulS16Args& args);
#include "kernels/gemm/matmul_s16_kernels.inc"
#undef ITG_MATMUL_S16

namespace {

#define ITG_MATMUL_S16(isa, columns)           \
  ITG_KERNEL(MatmulS16Kernel, matmul_s16, isa, \
             ITG_COMPILED(isa, k.function = matmul_s16_##isa;) k.nr = columns)
constexpr MatmulS16Kernel kMatmulS16Kernels[] = {
#include "kernels/gemm/matmul_s16_kernels.inc"
};
#undef ITG_MATMUL_S16

}  // namespace

ITG_KERNEL_LIST(MatmulS16Kernel, matmul_s16, kMatmulS16Kernels)
ITG_FIRST_ALLOWED(matmul_s16, kMatmulS16Kernels)

int64_t matmul_s16_panel_bytes(const MatmulS16Kernel& kernel, int32_t k) {
  return int64_t{k + 1} / 2 * kernel.nr * 4;
}

void matmul_s16_pack(const MatmulS16Kernel& kernel, const int16_t* b, ptrdiff_t depth_stride,
                     ptrdiff_t column_stride, int32_t n, int32_t k, int16_t* panel) {
  const ptrdiff_t step = 2 * kernel.nr;
  if (n < kernel.nr || k % 2 != 0) memset(panel, 0, static_cast<size_t>(matmul_s16_panel_bytes(kernel, k)));
  for (int32_t i = 0; i < k; ++i)
    for (int32_t c = 0; c < n; ++c)
      panel[i / 2 * step + 2 * c + i % 2] = b[i * depth_stride + c * column_stride];
}

}  // namespace intaglio
