#include "kernels/quantize/quantize_s8.h"

#include "kernels/compiled_isa.h"

namespace intaglio {

#define ITG_QUANTIZE_S8(isa)                                                                         \
  void quantize_s8_##isa(const float* x, float scale, const OutputS8& output, int8_t* y, int32_t n); \
  void dequantize_s8_##isa(const int8_t* x, float scale, int32_t zero_point, float* y, int32_t n);
#include "kernels/quantize/quantize_s8_kernels.inc"
#undef ITG_QUANTIZE_S8

namespace {

#define ITG_QUANTIZE_S8(isa)                     \
  ITG_KERNEL(QuantizeS8Kernel, quantize_s8, isa, \
             ITG_COMPILED(isa, k.quantize = quantize_s8_##isa; k.dequantize = dequantize_s8_##isa;))
constexpr QuantizeS8Kernel kKernels[] = {
#include "kernels/quantize/quantize_s8_kernels.inc"
};
#undef ITG_QUANTIZE_S8

}  // namespace

ITG_KERNEL_LIST(QuantizeS8Kernel, quantize_s8, kKernels)
ITG_FIRST_ALLOWED(quantize_s8, kKernels)

}  // namespace intaglio
