#include "kernels/gemm/matmul_s16.h"

#include <cstring>

#include "kernels/compiled_isa.h"

namespace intaglio {

#define ITG_MATMUL_S16(isa, columns) void matmul_s16_##isa(const MatmulS16Args& args);
#include "kernels/gemm/matmul_s16_kernels.inc"
#undef ITG_MATMUL_S16

namespace {

#define ITG_MATMUL_S16(isa, columns)           \
  ITG_KERNEL(MatmulS16Kernel, matmul_s16, isa, \
             ITG_COMPILED(isa, k.function = matmul_s16_##isa;) k.nr = columns)
constexpr MatmulS16Kernel kKernels[] = {
#include "kernels/gemm/matmul_s16_kernels.inc"
};
#undef ITG_MATMUL_S16

}  // namespace

ITG_KERNEL_LIST(MatmulS16Kernel, matmul_s16, kKernels)
ITG_FIRST_ALLOWED(matmul_s16, kKernels)

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
