#include "kernels/dwconv/dwconv_s8_blocks_avx512.h"

namespace intaglio {
namespace {

class Codes {
 public:
  explicit Codes(const DwconvS8Args& args)
      : lo_(_mm512_set1_ps(args.requant.lo_minus_zero_point)),
        hi_(_mm512_set1_ps(args.requant.hi_minus_zero_point)),
        zero_point_(_mm512_set1_epi32(args.requant.zero_point)),
        args_(args) {}

  template <bool Full>
  void store(int32_t p, int32_t first, __mmask64 mask, const Vectors& acc, const Vectors& factors) const {
    __m512i q[kQuad];
#pragma GCC unroll 4
    for (int32_t v = 0; v < kQuad; ++v) {
      const __m512 real = _mm512_mul_ps(_mm512_cvtepi32_ps(acc.v[v]), _mm512_castsi512_ps(factors.v[v]));
      q[v] = _mm512_add_epi32(_mm512_cvtps_epi32(_mm512_min_ps(_mm512_max_ps(real, lo_), hi_)), zero_point_);
    }
    const __m512i codes = _mm512_packs_epi16(_mm512_packs_epi32(q[0], q[1]), _mm512_packs_epi32(q[2], q[3]));
    int8_t* const y = args_.output + static_cast<size_t>(p) * args_.output_stride + first;
    if (Full) {
      _mm512_storeu_si512(y, codes);
    } else {
      _mm512_mask_storeu_epi8(y, mask, codes);
    }
  }

 private:
  const __m512 lo_, hi_;
  const __m512i zero_point_;
  const DwconvS8Args& args_;
};

}  // namespace

void dwconv_s8_avx512vnni(const DwconvS8Args& args);

void dwconv_s8_avx512vnni(const DwconvS8Args& args) { for_blocks<Codes>(args); }

}  // namespace intaglio
