#include "kernels/gemm_s8.h"

#include "kernels/compiled_isa.h"

namespace intaglio {

#define ITG_GEMM_S8(suffix, isa, mr, nr, kr, lhs_offset, packs, lhs_bytes) \
  void gemm_s8_##suffix(const GemmS8Args& args);
#include "kernels/gemm_s8_kernels.inc"
#undef ITG_GEMM_S8

namespace {

#define ITG_GEMM_S8(suffix, isa, mr, nr, kr, lhs_offset, packs, lhs_bytes) \
  {"gemm_s8_" #suffix,                                                     \
   ITG_NEEDS_##isa,                                                        \
   mr,                                                                     \
   nr,                                                                     \
   kr,                                                                     \
   lhs_offset,                                                             \
   packs,                                                                  \
   lhs_bytes,                                                              \
   ITG_COMPILED_##isa(gemm_s8_##suffix)},
const GemmS8Kernel kKernels[] = {
#include "kernels/gemm_s8_kernels.inc"
};
#undef ITG_GEMM_S8

constexpr int32_t kCount = sizeof kKernels / sizeof kKernels[0];

int64_t round_up(int64_t v, int64_t multiple) { return (v + multiple - 1) / multiple * multiple; }

}  // namespace

int32_t gemm_s8_count() { return kCount; }
const GemmS8Kernel& gemm_s8_kernel(int32_t index) { return kKernels[index]; }

int32_t gemm_s8_select(IsaMask isa) {
  int32_t i = 0;
  while (i < kCount - 1 && (kKernels[i].isa & ~isa) != 0) ++i;
  return i;
}

int64_t gemm_s8_scratch_bytes(const GemmS8Kernel& kernel, int32_t taps, int32_t k) {
  return round_up(int64_t{kernel.mr} * taps * round_up(k, kernel.kr) * kernel.lhs_bytes, 64);
}

int64_t gemm_s8_packed_bytes(const GemmS8Kernel& kernel, int32_t n, int32_t taps, int32_t k) {
  if (!kernel.packs) return 0;
  const int64_t correction = kernel.lhs_offset != 0 ? int64_t{kernel.nr} * 4 : 0;
  const int64_t panel = correction + int64_t{taps} * round_up(k, kernel.kr) * kernel.nr;
  return round_up(n, kernel.nr) / kernel.nr * panel;
}

void gemm_s8_pack(const GemmS8Kernel& kernel, const int8_t* weights, int32_t n, int32_t taps, int32_t k,
                  void* packed) {
  if (!kernel.packs) return;
  const int32_t nr = kernel.nr, kr = kernel.kr;
  auto* out = static_cast<int8_t*>(packed);
  const ptrdiff_t column_stride = static_cast<ptrdiff_t>(taps) * k;
  for (int32_t first = 0; first < n; first += nr) {
    if (kernel.lhs_offset != 0) {
      for (int32_t c = first; c < first + nr; ++c) {
        uint32_t sum = 0;
        for (ptrdiff_t i = 0; c < n && i < column_stride; ++i)
          sum += static_cast<uint32_t>(int32_t{weights[c * column_stride + i]});
        const uint32_t correction = 0u - static_cast<uint32_t>(kernel.lhs_offset) * sum;
        memcpy(out, &correction, sizeof correction);
        out += sizeof correction;
      }
    }
    for (int32_t t = 0; t < taps; ++t)
      for (int32_t i = 0; i < k; i += kr)
        for (int32_t c = first; c < first + nr; ++c)
          for (int32_t j = i; j < i + kr; ++j)
            *out++ =
                c < n && j < k ? weights[c * column_stride + static_cast<ptrdiff_t>(t) * k + j] : int8_t{0};
  }
}

}  // namespace intaglio
