#include "kernels/arithmetic/output_f32_avx512.h"
#include "kernels/dwconv/dwconv_s8_blocks_avx512.h"
#include "kernels/dwconv/dwconv_s8_f32.h"

namespace intaglio {
namespace {

class Reals {
 public:
  explicit Reals(const DwconvS8F32Args& args) : finish_(args.clamp), args_(args) {}

  template <bool Full>
  void store(int32_t p, int32_t first, __mmask64 mask, const Vectors& acc, const Vectors& factors) const {
    __m512 reals[kQuad];
#pragma GCC unroll 4
    for (int32_t v = 0; v < kQuad; ++v) reals[v] = finish_(acc.v[v], _mm512_castsi512_ps(factors.v[v]));
    order_quads(reals);
    float* const y = args_.y + static_cast<size_t>(p) * args_.y_stride + first;
#pragma GCC unroll 4
    for (int32_t v = 0; v < kQuad; ++v)
      _mm512_mask_storeu_ps(y + 16 * v, static_cast<__mmask16>(mask >> 16 * v), reals[v]);
  }

 private:
  const FinishSums finish_;
  const DwconvS8F32Args& args_;
};

}  // namespace

void dwconv_s8_f32_avx512vnni(const DwconvS8F32Args& args);

void dwconv_s8_f32_avx512vnni(const DwconvS8F32Args& args) { for_blocks<Reals>(args); }

}  // namespace intaglio
