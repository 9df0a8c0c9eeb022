#include "kernels/compiled_isa.h"
#include "kernels/quantize/quantize_s8.h"

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

void quantize_s8_scalar(const float* x, float scale, const OutputS8& output, int8_t* y, int32_t n);
void dequantize_s8_scalar(const int8_t* x, float scale, int32_t zero_point, float* y, int32_t n);

void quantize_s8_scalar(const float* x, float scale, const OutputS8& output, int8_t* y, int32_t n) {
  const OutputS8 o = output;
  for (int32_t i = 0; i < n; ++i) {
    const float v = x[i] / scale;
    const int8_t q = clamp_and_round_s8(v, o);
    y[i] = v == v ? q : static_cast<int8_t>(o.zero_point);
  }
}

void dequantize_s8_scalar(const int8_t* x, float scale, int32_t zero_point, float* y, int32_t n) {
  for (int32_t i = 0; i < n; ++i) y[i] = scale * static_cast<float>(x[i] - zero_point);
}

}  // namespace intaglio
