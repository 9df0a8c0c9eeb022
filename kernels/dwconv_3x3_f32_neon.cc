// AArch64: four channels in a vector, what is left one by one. ARMv7's vectors flush subnormals, so there all
// channels go one by one through VFP's scalar registers.
#include "kernels/dwconv_3x3_f32_tiles.h"
#include "kernels/fma_f32.h"
#include "kernels/output_f32_neon.h"

namespace intaglio {
namespace {

struct All {};  // every lane holds a channel

struct One {
  using Register = float;
  using Mask = All;
  static constexpr int32_t kLanes = 1, kColumns = 7;

  struct Finish {
    explicit Finish(const ClampF32& c) : clamp(c) {}
    float operator()(float v) const { return finish_f32(v, clamp); }
    ClampF32 clamp;
  };
  static Mask mask(int32_t) { return {}; }
  static Register load(const float* from, Mask) { return *from; }
  static void store(float* to, Mask, Register v) { *to = v; }
  static Register zero() { return 0.0f; }
  static Register multiply_add(Register a, Register b, Register c) { return fma_f32(a, b, c); }
};

#if defined(__aarch64__)
struct Four {
  using Register = float32x4_t;
  using Mask = All;
  using Finish = FinishF32;
  static constexpr int32_t kLanes = 4, kColumns = 7;

  static Mask mask(int32_t) { return {}; }
  static Register load(const float* from, Mask) { return vld1q_f32(from); }
  static void store(float* to, Mask, Register v) { vst1q_f32(to, v); }
  static Register zero() { return vdupq_n_f32(0.0f); }
  static Register multiply_add(Register a, Register b, Register c) { return vfmaq_f32(c, a, b); }
};
#endif

}  // namespace

void dwconv_3x3_f32_neon(const Dwconv3x3F32Args& args);

void dwconv_3x3_f32_neon(const Dwconv3x3F32Args& args) {
  int32_t first = 0;
#if defined(__aarch64__)
  first = args.channels / Four::kLanes * Four::kLanes;
  if (first > 0) dwconv_3x3<Four>(args, 0, first);
#endif
  if (first < args.channels) dwconv_3x3<One>(args, first, args.channels);
}

}  // namespace intaglio
