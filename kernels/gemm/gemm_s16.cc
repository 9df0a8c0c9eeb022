#include "kernels/gemm/gemm_s16.h"

#include "kernels/arithmetic/weight_sums.h"
#include "kernels/compiled_isa.h"

namespace intaglio {

#define ITG_GEMM_S16(isa, ...) void gemm_s16_##isa(const GemmS16Args& args);
#include "kernels/gemm/gemm_s16_kernels.inc"
#undef ITG_GEMM_S16

namespace {

#define ITG_GEMM_S16(isa, ...) \
  ITG_KERNEL(GemmS16Kernel, gemm_s16, isa, ITG_COMPILED(isa, k.function = gemm_s16_##isa;) __VA_ARGS__)
constexpr GemmS16Kernel kKernels[] = {
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

ITG_KERNEL_LIST(GemmS16Kernel, gemm_s16, kKernels)
ITG_FIRST_ALLOWED(gemm_s16, kKernels)

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

}  // namespace intaglio
