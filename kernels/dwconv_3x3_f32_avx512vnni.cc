#include <immintrin.h>

#include "kernels/dwconv_3x3_f32_tiles.h"
#include "kernels/output_f32_avx512.h"

namespace intaglio {
namespace {

struct Sixteen {
  using Register = __m512;
  using Mask = __mmask16;
  using Finish = FinishF32;
  static constexpr int32_t kLanes = 16, kColumns = 7;

  static Mask mask(int32_t count) { return first_lanes(count); }
  static Register load(const float* from, Mask mask) { return _mm512_maskz_loadu_ps(mask, from); }
  static void store(float* to, Mask mask, Register v) { _mm512_mask_storeu_ps(to, mask, v); }
  static Register zero() { return _mm512_setzero_ps(); }
  static Register multiply_add(Register a, Register b, Register c) { return _mm512_fmadd_ps(a, b, c); }
};

}  // namespace

void dwconv_3x3_f32_avx512vnni(const Dwconv3x3F32Args& args);

void dwconv_3x3_f32_avx512vnni(const Dwconv3x3F32Args& args) { dwconv_3x3<Sixteen>(args, 0, args.channels); }

}  // namespace intaglio
