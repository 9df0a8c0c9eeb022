#include <immintrin.h>

#include "kernels/dwconv_3x3_f32_tiles.h"
#include "kernels/output_f32_avx2.h"

namespace intaglio {
namespace {

struct Eight {
  using Register = __m256;
  using Mask = __m256i;
  using Finish = FinishF32;
  static constexpr int32_t kLanes = 8, kColumns = 4;

  static Mask mask(int32_t count) { return first_lanes(count); }
  static Register load(const float* from, Mask mask) { return _mm256_maskload_ps(from, mask); }
  static void store(float* to, Mask mask, Register v) {
    if (_mm256_movemask_ps(_mm256_castsi256_ps(mask)) == 0xff) {  // by far faster
      _mm256_storeu_ps(to, v);
    } else {
      _mm256_maskstore_ps(to, mask, v);
    }
  }
  static Register zero() { return _mm256_setzero_ps(); }
  static Register multiply_add(Register a, Register b, Register c) { return _mm256_fmadd_ps(a, b, c); }
};

}  // namespace

void dwconv_3x3_f32_avx2(const Dwconv3x3F32Args& args);

void dwconv_3x3_f32_avx2(const Dwconv3x3F32Args& args) { dwconv_3x3<Eight>(args, 0, args.channels); }

}  // namespace intaglio
