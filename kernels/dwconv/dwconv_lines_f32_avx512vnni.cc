#include <immintrin.h>

#include "kernels/arithmetic/output_f32_avx512.h"
#include "kernels/dwconv/dwconv_lines_f32_tiles.h"

namespace intaglio {
namespace {

struct Sixteen {
  using Register = __m512;
  using Finish = FinishF32;
  static constexpr int32_t kLanes = 16, kLines = 2;
  static constexpr bool kBranches = true, kClamps = false;

  static Register load(const float* from) { return _mm512_loadu_ps(from); }
  static void store(float* to, Register v) { _mm512_storeu_ps(to, v); }
  static Register zero() { return _mm512_setzero_ps(); }
  static Register multiply_add(Register a, Register b, Register c) { return _mm512_fmadd_ps(a, b, c); }
};

}  // namespace

void dwconv_lines_f32_avx512vnni(const DwconvLinesF32Args& args);

void dwconv_lines_f32_avx512vnni(const DwconvLinesF32Args& args) { dwconv_lines<Sixteen>(args); }

}  // namespace intaglio
