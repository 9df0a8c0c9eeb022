#include "kernels/gemm/gemm_f32.h"

#include <cstring>

#include "kernels/compiled_isa.h"

namespace intaglio {

#define ITG_GEMM_F32(isa, ...) void gemm_f32_##isa(const GemmF32Args& args);
#include "kernels/gemm/gemm_f32_kernels.inc"
#undef ITG_GEMM_F32

namespace {

#define ITG_GEMM_F32(isa, ...) \
  ITG_KERNEL(GemmF32Kernel, gemm_f32, isa, ITG_COMPILED(isa, k.function = gemm_f32_##isa;) __VA_ARGS__)
constexpr GemmF32Kernel kKernels[] = {
#include "kernels/gemm/gemm_f32_kernels.inc"
};
#undef ITG_GEMM_F32

}  // namespace

ITG_KERNEL_LIST(GemmF32Kernel, gemm_f32, kKernels)
ITG_FIRST_ALLOWED(gemm_f32, kKernels)

int64_t gemm_f32_packed_bytes(const GemmF32Kernel& kernel, int32_t n, int32_t taps, int32_t k) {
  if (!kernel.packs) return 0;
  const int64_t panels = (int64_t{n} + kernel.nr - 1) / kernel.nr;
  return panels * kernel.nr * taps * k * 4;
}

void gemm_f32_pack(const GemmF32Kernel& kernel, const float* weights, int32_t n, int32_t taps, int32_t k,
                   float* packed) {
  if (!kernel.packs) return;
  // Transposed in squares: a column of weights and a row of the panel are far apart in memory.
  constexpr ptrdiff_t kSquare = 16;
  const ptrdiff_t depth = static_cast<ptrdiff_t>(taps) * k, nr = kernel.nr;
  for (ptrdiff_t first = 0; first < n; first += nr, packed += depth * nr) {
    const ptrdiff_t columns = n - first < nr ? n - first : nr;
    for (ptrdiff_t from = 0; from < depth; from += kSquare) {
      const ptrdiff_t to = from + kSquare < depth ? from + kSquare : depth;
      for (ptrdiff_t c = 0; c < columns; ++c)
        for (ptrdiff_t i = from; i < to; ++i) packed[i * nr + c] = weights[(first + c) * depth + i];
      for (ptrdiff_t c = columns; c < nr; ++c)
        for (ptrdiff_t i = from; i < to; ++i) packed[i * nr + c] = 0.0f;
    }
  }
}

void gemm_f32_pack_rows(const GemmF32Kernel& kernel, const float* weights, ptrdiff_t stride, int32_t n,
                        int32_t k, float* packed) {
  const ptrdiff_t nr = kernel.nr;
  for (ptrdiff_t first = 0; first < n; first += nr) {
    const ptrdiff_t columns = n - first < nr ? n - first : nr;
    for (ptrdiff_t i = 0; i < k; ++i, packed += nr) {
      memcpy(packed, weights + i * stride + first, static_cast<size_t>(columns) * sizeof(float));
      for (ptrdiff_t c = columns; c < nr; ++c) packed[c] = 0.0f;
    }
  }
}

}  // namespace intaglio
