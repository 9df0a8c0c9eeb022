#include <immintrin.h>

#include "kernels/arithmetic/output_f32_avx2.h"
#include "kernels/dwconv/dwconv_lines_f32_tiles.h"

namespace intaglio {
namespace {

struct Eight {
  using Register = __m256;
  using Finish = FinishF32;
  static constexpr int32_t kLanes = 8, kLines = 1;
  static constexpr bool kBranches = true, kClamps = false;

  static Register load(const float* from) { return _mm256_loadu_ps(from); }
  static void store(float* to, Register v) { _mm256_storeu_ps(to, v); }
  static Register zero() { return _mm256_setzero_ps(); }
  static Register multiply_add(Register a, Register b, Register c) { return _mm256_fmadd_ps(a, b, c); }
};

}  // namespace

void dwconv_lines_f32_avx2(const DwconvLinesF32Args& args);

void dwconv_lines_f32_avx2(const DwconvLinesF32Args& args) { dwconv_lines<Eight>(args); }

}  // namespace intaglio
