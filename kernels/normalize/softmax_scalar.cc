// Scalar softmax of int8, int16 and FP32, and the list of FP32.
#include "kernels/compiled_isa.h"
#include "kernels/normalize/softmax.h"
#include "kernels/normalize/softmax_f32_row.h"

namespace intaglio {

void softmax_s8_scalar(const int8_t* x, const int32_t* table, float reciprocal_scale, const OutputS8& output,
                       int8_t* y, int32_t n) {
  int8_t largest = -128;
  for (int32_t i = 0; i < n; ++i) largest = largest > x[i] ? largest : x[i];
  int32_t sum = 0;
  for (int32_t i = 0; i < n; ++i) sum += table[largest - x[i]];
  const float r = reciprocal_scale / static_cast<float>(sum);
  for (int32_t i = 0; i < n; ++i) y[i] = requantize_s8(table[largest - x[i]], r, output);
}

void softmax_s16_scalar(const int16_t* x, const int32_t* table, float reciprocal_scale, int16_t* y,
                        int32_t n) {
  int32_t largest = -32768, sum = 0;
  for (int32_t i = 0; i < n; ++i) largest = largest > x[i] ? largest : x[i];
  for (int32_t i = 0; i < n; ++i) sum += softmax_entry_s16(table, largest - x[i]);
  const float r = reciprocal_scale / static_cast<float>(sum);
  const OutputS16 output = make_output_s16(-32768, 32767);
  for (int32_t i = 0; i < n; ++i) y[i] = requantize_s16(softmax_entry_s16(table, largest - x[i]), r, output);
}

#define ITG_SOFTMAX_F32(isa) SoftmaxF32 softmax_f32_##isa;
#include "kernels/normalize/softmax_f32_kernels.inc"
#undef ITG_SOFTMAX_F32

namespace {

#define ITG_SOFTMAX_F32(isa) \
  ITG_KERNEL(SoftmaxF32Kernel, softmax_f32, isa, ITG_COMPILED(isa, k.function = softmax_f32_##isa;))
constexpr SoftmaxF32Kernel kSoftmaxF32Kernels[] = {
#include "kernels/normalize/softmax_f32_kernels.inc"
};
#undef ITG_SOFTMAX_F32

}  // namespace

ITG_KERNEL_LIST(SoftmaxF32Kernel, softmax_f32, kSoftmaxF32Kernels)
ITG_FIRST_ALLOWED(softmax_f32, kSoftmaxF32Kernels)

SoftmaxF32 softmax_f32_scalar;

void softmax_f32_scalar(const float* x, float* y, int32_t n, int32_t block) {
  softmax_row_f32(x, y, n, block);
}

}  // namespace intaglio
