// Depthwise convolutions in FP32: of a few pixels, and of whole lines.
#include "kernels/arithmetic/fma_f32.h"
#include "kernels/arithmetic/output_f32_neon.h"
#include "kernels/dwconv/dwconv_f32.h"
#include "kernels/dwconv/dwconv_lines_f32_tiles.h"

namespace intaglio {
namespace {

// One chain of fused multiply-adds an output. AArch64: eight channels of four pixels at a time, in vectors.
// ARMv7's vectors flush subnormals, so there eight channels of a pixel go through VFP's scalar registers.

// Channels [first, first + Count) of one pixel.
template <int32_t Count>
void scalar_channels(const DwconvF32Args& args, int32_t pixel, int32_t first) {
  const float* const* const rows = args.rows + static_cast<ptrdiff_t>(pixel) * args.taps;
  float acc[Count];
#pragma GCC unroll 8
  for (int32_t c = 0; c < Count; ++c) acc[c] = args.bias != nullptr ? args.bias[first + c] : 0.0f;
  const float* w = args.weights + first;
  for (int32_t t = 0; t < args.taps; ++t, w += args.channels) {
    const float* const x = rows[t] + first;
#pragma GCC unroll 8
    for (int32_t c = 0; c < Count; ++c) acc[c] = fma_f32(x[c], w[c], acc[c]);
  }
  float* const y = args.output + static_cast<size_t>(pixel) * args.output_stride + first;
#pragma GCC unroll 8
  for (int32_t c = 0; c < Count; ++c) y[c] = finish_f32(acc[c] + 0.0f, args.clamp);
}

#if defined(__aarch64__)

// 4 * Vectors channels of Pixels pixels.
template <int32_t Pixels, int32_t Vectors>
inline void block(const DwconvF32Args& args, const FinishF32& finish, int32_t pixel, int32_t first) {
  const float* const* rows[Pixels];
  float32x4_t acc[Pixels][Vectors];
#pragma GCC unroll 4
  for (int32_t p = 0; p < Pixels; ++p) {
    rows[p] = args.rows + static_cast<ptrdiff_t>(pixel + p) * args.taps;
#pragma GCC unroll 2
    for (int32_t v = 0; v < Vectors; ++v)
      acc[p][v] = args.bias != nullptr ? vld1q_f32(args.bias + first + 4 * v) : vdupq_n_f32(0.0f);
  }
  const float* w = args.weights + first;
  const ptrdiff_t taps = args.taps, w_stride = args.channels;
  for (ptrdiff_t t = 0; t < taps; ++t, w += w_stride) {
    float32x4_t weights[Vectors];
#pragma GCC unroll 2
    for (int32_t v = 0; v < Vectors; ++v) weights[v] = vld1q_f32(w + 4 * v);
#pragma GCC unroll 4
    for (int32_t p = 0; p < Pixels; ++p) {
      const float* const x = rows[p][t] + first;
#pragma GCC unroll 2
      for (int32_t v = 0; v < Vectors; ++v)
        acc[p][v] = vfmaq_f32(acc[p][v], vld1q_f32(x + 4 * v), weights[v]);
    }
  }
  float* y = args.output + static_cast<size_t>(pixel) * args.output_stride + first;
#pragma GCC unroll 4
  for (int32_t p = 0; p < Pixels; ++p, y += args.output_stride)
#pragma GCC unroll 2
    for (int32_t v = 0; v < Vectors; ++v) vst1q_f32(y + 4 * v, finish(acc[p][v]));
}

template <int32_t Vectors>
__attribute__((noinline)) void all_pixels(const DwconvF32Args& args, int32_t first) {
  const FinishF32 finish(args.clamp);
  int32_t p = 0;
  for (; p + 4 <= args.pixels; p += 4) block<4, Vectors>(args, finish, p, first);
  for (; p < args.pixels; ++p) block<1, Vectors>(args, finish, p, first);
}

#endif

}  // namespace

void dwconv_f32_neon(const DwconvF32Args& args);

void dwconv_f32_neon(const DwconvF32Args& args) {
  const int32_t c = args.channels;
  int32_t first = 0;
#if defined(__aarch64__)
  const DefaultNan mode;
  for (; first + 8 <= c; first += 8) all_pixels<2>(args, first);
  for (; first + 4 <= c; first += 4) all_pixels<1>(args, first);
#else
  for (; first + 8 <= c; first += 8)
    for (int32_t p = 0; p < args.pixels; ++p) scalar_channels<8>(args, p, first);
#endif
  for (; first < c; ++first)
    for (int32_t p = 0; p < args.pixels; ++p) scalar_channels<1>(args, p, first);
}

// AArch64: four channels in a vector. ARMv7's vectors flush subnormals, so there channels go one by one
// through VFP's scalar registers.

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
