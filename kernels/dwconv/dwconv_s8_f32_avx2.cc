#include "kernels/arithmetic/output_f32_avx2.h"
#include "kernels/dwconv/dwconv_s8_blocks_avx2.h"
#include "kernels/dwconv/dwconv_s8_f32.h"

namespace intaglio {

void dwconv_s8_f32_avx2(const DwconvS8F32Args& args);

void dwconv_s8_f32_avx2(const DwconvS8F32Args& args) {
  const FinishSums finish(args.clamp);
  for_blocks(args,
             [&](int32_t p, int32_t first, int32_t count, __m256i acc0, __m256 m0, __m256i acc1, __m256 m1) {
               float* const y = args.y + static_cast<size_t>(p) * args.y_stride + first;
               if (count == kBlock) {
                 _mm256_storeu_ps(y, finish(acc0, m0));
                 _mm256_storeu_ps(y + 8, finish(acc1, m1));
               } else {
                 _mm256_maskstore_ps(y, lanes(count), finish(acc0, m0));
                 if (count > 8) _mm256_maskstore_ps(y + 8, lanes(count - 8), finish(acc1, m1));
               }
             });
}

}  // namespace intaglio
