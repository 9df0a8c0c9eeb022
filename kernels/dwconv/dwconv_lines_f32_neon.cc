// AArch64: four channels in a vector. ARMv7's vectors flush subnormals, so there channels go one by one
// through VFP's scalar registers.
#include "kernels/arithmetic/fma_f32.h"
#include "kernels/arithmetic/output_f32_neon.h"
#include "kernels/dwconv/dwconv_lines_f32_tiles.h"

namespace intaglio {
namespace {

#if defined(__aarch64__)
struct Lanes {
  using Register = float32x4_t;
  using Finish = FinishF32;
  static constexpr int32_t kLanes = 4, kLines = 2;
  static constexpr bool kBranches = false, kClamps = true;

  static Register load(const float* from) { return vld1q_f32(from); }
  static void store(float* to, Register v) { vst1q_f32(to, v); }
  static Register zero() { return vdupq_n_f32(0.0f); }
  static Register multiply_add(Register a, Register b, Register c) { return vfmaq_f32(c, a, b); }
};
#else
struct Lanes {
  using Register = float;
  static constexpr int32_t kLanes = 1, kLines = 2;
  static constexpr bool kBranches = false, kClamps = false;

  struct Finish {
    explicit Finish(const ClampF32& c) : clamp(c) {}
    float operator()(float v) const { return finish_f32(v, clamp); }
    ClampF32 clamp;
  };
  static Register load(const float* from) { return *from; }
  static void store(float* to, Register v) { *to = v; }
  static Register zero() { return 0.0f; }
  static Register multiply_add(Register a, Register b, Register c) { return fma_f32(a, b, c); }
};
#endif

}  // namespace

void dwconv_lines_f32_neon(const DwconvLinesF32Args& args);

#if defined(__aarch64__)
__attribute__((noinline)) static void all_lines(const DwconvLinesF32Args& args) { dwconv_lines<Lanes>(args); }

void dwconv_lines_f32_neon(const DwconvLinesF32Args& args) {
  const DefaultNan mode;
  all_lines(args);
}
#else
void dwconv_lines_f32_neon(const DwconvLinesF32Args& args) { dwconv_lines<Lanes>(args); }
#endif

}  // namespace intaglio
