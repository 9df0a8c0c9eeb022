// The lists of depthwise kernels, and the scalar ones.
#include "kernels/arithmetic/fma_f32.h"
#include "kernels/arithmetic/output_f32.h"
#include "kernels/compiled_isa.h"
#include "kernels/dwconv/dwconv_f32.h"
#include "kernels/dwconv/dwconv_map_s8.h"
#include "kernels/dwconv/dwconv_s16.h"
#include "kernels/dwconv/dwconv_s8.h"
#include "kernels/dwconv/dwconv_s8_channels.h"

namespace intaglio {

#define ITG_DWCONV_S8(isa, ...) void dwconv_s8_##isa(const DwconvS8Args& args);
#include "kernels/dwconv/dwconv_s8_kernels.inc"
#undef ITG_DWCONV_S8

namespace {

#define ITG_DWCONV_S8(isa, ...) \
  ITG_KERNEL(DwconvS8Kernel, dwconv_s8, isa, ITG_COMPILED(isa, k.function = dwconv_s8_##isa;) __VA_ARGS__)
constexpr DwconvS8Kernel kDwconvS8Kernels[] = {
#include "kernels/dwconv/dwconv_s8_kernels.inc"
};
#undef ITG_DWCONV_S8

constexpr int32_t kDwconvS8Count = sizeof kDwconvS8Kernels / sizeof kDwconvS8Kernels[0];

bool fits(const DwconvS8Kernel& kernel, IsaMask isa, int32_t depth_multiplier) {
  return (kernel.isa & ~isa) == 0 &&
         (kernel.max_depth_multiplier == 0 || depth_multiplier <= kernel.max_depth_multiplier);
}

}  // namespace

ITG_KERNEL_LIST(DwconvS8Kernel, dwconv_s8, kDwconvS8Kernels)

int32_t dwconv_s8_select(IsaMask isa, int32_t depth_multiplier) {
  int32_t i = 0;
  while (i < kDwconvS8Count - 1 && !fits(kDwconvS8Kernels[i], isa, depth_multiplier)) ++i;
  return i;
}

int64_t dwconv_s8_scratch_bytes(const DwconvS8Kernel& kernel, int32_t taps) {
  return (int64_t{taps} * kernel.tap_bytes + 63) / 64 * 64;
}

void dwconv_s8_scalar(const DwconvS8Args& args);

#if defined(__ARM_ARCH_PROFILE) && __ARM_ARCH_PROFILE == 'M' && !defined(__ARM_FEATURE_DSP)

void dwconv_s8_scalar(const DwconvS8Args& args) { dwconv_s8_by_channels(args); }

#else

void dwconv_s8_scalar(const DwconvS8Args& args) {
  const OutputSoft output = make_output_soft(args.requant);
  const ptrdiff_t outputs = static_cast<ptrdiff_t>(args.channels) * args.depth_multiplier;
  for (int32_t p = 0; p < args.pixels; ++p) {
    const bool even = args.pixel_step != 0;
    const int8_t* const* const rows = args.rows + (even ? 0 : static_cast<ptrdiff_t>(p) * args.taps);
    const ptrdiff_t behind = static_cast<ptrdiff_t>(p) * args.pixel_step;
    int8_t* const y = args.output + static_cast<size_t>(p) * args.output_stride;
    ptrdiff_t o = 0;
    for (int32_t c = 0; c < args.channels; ++c) {
      for (int32_t j = 0; j < args.depth_multiplier; ++j, ++o) {
        // Unsigned: sums in between may wrap.
        auto acc = static_cast<uint32_t>(args.folded_bias[o]);
        for (int32_t t = 0; t < args.taps; ++t)
          acc += static_cast<uint32_t>(int32_t{rows[t][behind + c]} * args.weights[t * outputs + o]);
        requantize_run(&acc, args.multiplier + o, 1, args.requant, output, y + o);
      }
    }
  }
}

#endif

#define ITG_DWCONV_S8_F32(isa, ...) void dwconv_s8_f32_##isa(const DwconvS8F32Args& args);
#include "kernels/dwconv/dwconv_s8_f32_kernels.inc"
#undef ITG_DWCONV_S8_F32

namespace {

#define ITG_DWCONV_S8_F32(isa, ...)                 \
  ITG_KERNEL(DwconvS8F32Kernel, dwconv_s8_f32, isa, \
             ITG_COMPILED(isa, k.f32_function = dwconv_s8_f32_##isa;) __VA_ARGS__)
constexpr DwconvS8F32Kernel kDwconvS8F32Kernels[] = {
#include "kernels/dwconv/dwconv_s8_f32_kernels.inc"
};
#undef ITG_DWCONV_S8_F32

constexpr int32_t kDwconvS8F32Count = sizeof kDwconvS8F32Kernels / sizeof kDwconvS8F32Kernels[0];

}  // namespace

ITG_KERNEL_LIST(DwconvS8F32Kernel, dwconv_s8_f32, kDwconvS8F32Kernels)

// The scalar kernel alone takes channels that have several outputs.
int32_t dwconv_s8_f32_select(IsaMask isa, int32_t depth_multiplier) {
  return depth_multiplier > 1 ? kDwconvS8F32Count - 1 : first_allowed(kDwconvS8F32Kernels, isa);
}

void dwconv_s8_f32_scalar(const DwconvS8F32Args& args);

void dwconv_s8_f32_scalar(const DwconvS8F32Args& args) {
  const ptrdiff_t outputs = static_cast<ptrdiff_t>(args.channels) * args.depth_multiplier;
  const int8_t* const* rows = args.rows;
  float* y = args.y;
  for (int32_t p = 0; p < args.pixels; ++p, rows += args.taps, y += args.y_stride) {
    ptrdiff_t o = 0;
    for (int32_t c = 0; c < args.channels; ++c) {
      for (int32_t j = 0; j < args.depth_multiplier; ++j, ++o) {
        // Unsigned: sums in between may wrap.
        auto acc = static_cast<uint32_t>(args.folded_bias[o]);
        for (int32_t t = 0; t < args.taps; ++t)
          acc += static_cast<uint32_t>(int32_t{rows[t][c]} * args.weights[t * outputs + o]);
        y[o] = finish_f32(static_cast<float>(static_cast<int32_t>(acc)) * args.multiplier[o], args.clamp);
      }
    }
  }
}

#define ITG_DWCONV_F32(isa, ...) void dwconv_f32_##isa(const DwconvF32Args& args);
#include "kernels/dwconv/dwconv_f32_kernels.inc"
#undef ITG_DWCONV_F32

namespace {

#define ITG_DWCONV_F32(isa, ...) \
  ITG_KERNEL(DwconvF32Kernel, dwconv_f32, isa, ITG_COMPILED(isa, k.function = dwconv_f32_##isa;) __VA_ARGS__)
constexpr DwconvF32Kernel kDwconvF32Kernels[] = {
#include "kernels/dwconv/dwconv_f32_kernels.inc"
};
#undef ITG_DWCONV_F32

constexpr int32_t kDwconvF32Count = sizeof kDwconvF32Kernels / sizeof kDwconvF32Kernels[0];

bool fits(const DwconvF32Kernel& kernel, IsaMask isa, int32_t depth_multiplier) {
  return (kernel.isa & ~isa) == 0 &&
         (kernel.max_depth_multiplier == 0 || depth_multiplier <= kernel.max_depth_multiplier);
}

}  // namespace

ITG_KERNEL_LIST(DwconvF32Kernel, dwconv_f32, kDwconvF32Kernels)

int32_t dwconv_f32_select(IsaMask isa, int32_t depth_multiplier) {
  int32_t i = 0;
  while (i < kDwconvF32Count - 1 && !fits(kDwconvF32Kernels[i], isa, depth_multiplier)) ++i;
  return i;
}

void dwconv_f32_scalar(const DwconvF32Args& args);

void dwconv_f32_scalar(const DwconvF32Args& args) {
  const ptrdiff_t outputs = static_cast<ptrdiff_t>(args.channels) * args.depth_multiplier;
  for (int32_t p = 0; p < args.pixels; ++p) {
    const float* const* const rows = args.rows + static_cast<ptrdiff_t>(p) * args.taps;
    float* const y = args.output + static_cast<size_t>(p) * args.output_stride;
    ptrdiff_t o = 0;
    for (int32_t c = 0; c < args.channels; ++c) {
      for (int32_t j = 0; j < args.depth_multiplier; ++j, ++o) {
        float v = args.bias != nullptr ? args.bias[o] : 0.0f;
        for (int32_t t = 0; t < args.taps; ++t) v = fma_f32(rows[t][c], args.weights[t * outputs + o], v);
        y[o] = finish_f32(v + 0.0f, args.clamp);
      }
    }
  }
}

#define ITG_DWCONV_LINES_F32(isa, ...) void dwconv_lines_f32_##isa(const DwconvLinesF32Args& args);
#include "kernels/dwconv/dwconv_lines_f32_kernels.inc"
#undef ITG_DWCONV_LINES_F32

namespace {

#define ITG_DWCONV_LINES_F32(isa, ...)                    \
  ITG_KERNEL(DwconvLinesF32Kernel, dwconv_lines_f32, isa, \
             ITG_COMPILED(isa, k.function = dwconv_lines_f32_##isa;) __VA_ARGS__)
constexpr DwconvLinesF32Kernel kDwconvLinesF32Kernels[] = {
#include "kernels/dwconv/dwconv_lines_f32_kernels.inc"
    {},  // there may be no other
};
#undef ITG_DWCONV_LINES_F32

constexpr int32_t kDwconvLinesF32Count = sizeof kDwconvLinesF32Kernels / sizeof kDwconvLinesF32Kernels[0] - 1;

}  // namespace

int32_t dwconv_lines_f32_count() { return kDwconvLinesF32Count; }
const DwconvLinesF32Kernel& dwconv_lines_f32_kernel(int32_t index) { return kDwconvLinesF32Kernels[index]; }

int32_t dwconv_lines_f32_select(IsaMask isa, int32_t channels) {
  for (int32_t i = 0; i < kDwconvLinesF32Count; ++i)
    if ((kDwconvLinesF32Kernels[i].isa & ~isa) == 0 && channels >= kDwconvLinesF32Kernels[i].min_channels)
      return i;
  return -1;
}

#define ITG_DWCONV_S16(isa, ...) void dwconv_s16_##isa(const DwconvS16Args& args);
#include "kernels/dwconv/dwconv_s16_kernels.inc"
#undef ITG_DWCONV_S16

namespace {

#define ITG_DWCONV_S16(isa, ...) \
  ITG_KERNEL(DwconvS16Kernel, dwconv_s16, isa, ITG_COMPILED(isa, k.function = dwconv_s16_##isa;) __VA_ARGS__)
constexpr DwconvS16Kernel kDwconvS16Kernels[] = {
#include "kernels/dwconv/dwconv_s16_kernels.inc"
};
#undef ITG_DWCONV_S16

constexpr int32_t kDwconvS16Count = sizeof kDwconvS16Kernels / sizeof kDwconvS16Kernels[0];

}  // namespace

ITG_KERNEL_LIST(DwconvS16Kernel, dwconv_s16, kDwconvS16Kernels)

int32_t dwconv_s16_select(IsaMask isa, bool narrow) {
  for (int32_t i = 0; i < kDwconvS16Count; ++i)
    if ((kDwconvS16Kernels[i].isa & ~isa) == 0 && (narrow || !kDwconvS16Kernels[i].is_narrow)) return i;
  return kDwconvS16Count - 1;
}

void dwconv_s16_scalar(const DwconvS16Args& args);

void dwconv_s16_scalar(const DwconvS16Args& args) {
  const int32_t outputs = args.channels * args.depth_multiplier;
  for (int32_t p = 0; p < args.pixels; ++p) {
    const int16_t* const* const rows = args.rows + static_cast<ptrdiff_t>(p) * args.taps;
    int16_t* const y = args.output + static_cast<ptrdiff_t>(p) * static_cast<ptrdiff_t>(args.output_stride);
    for (int32_t c = 0, o = 0; c < args.channels; ++c)
      for (int32_t j = 0; j < args.depth_multiplier; ++j, ++o) {
        int64_t sum = args.bias[o];
        const int8_t* w = args.weights + o;
        for (int32_t t = 0; t < args.taps; ++t, w += outputs) sum += int32_t{rows[t][c]} * *w;
        y[o] = requantize_wide_s16(sum, args.multiplier[o], args.requant);
      }
  }
}

#define ITG_DWCONV_MAP_S8(isa, ...) void dwconv_map_s8_##isa(const DwconvMapS8Args& args);
#include "kernels/dwconv/dwconv_map_s8_kernels.inc"
#undef ITG_DWCONV_MAP_S8

namespace {

// One more than there are: a list may be empty.
#define ITG_DWCONV_MAP_S8(isa, ...)                 \
  ITG_KERNEL(DwconvMapS8Kernel, dwconv_map_s8, isa, \
             ITG_COMPILED(isa, k.function = dwconv_map_s8_##isa;) __VA_ARGS__)
constexpr DwconvMapS8Kernel kDwconvMapS8Kernels[] = {
#include "kernels/dwconv/dwconv_map_s8_kernels.inc"
    {nullptr, 0, 0, nullptr}};
#undef ITG_DWCONV_MAP_S8

constexpr int32_t kDwconvMapS8Count = sizeof kDwconvMapS8Kernels / sizeof kDwconvMapS8Kernels[0] - 1;

}  // namespace

int32_t dwconv_map_s8_count() { return kDwconvMapS8Count; }
const DwconvMapS8Kernel& dwconv_map_s8_kernel(int32_t index) { return kDwconvMapS8Kernels[index]; }

int32_t dwconv_map_s8_select(IsaMask isa, int32_t ow, int32_t oh, int32_t channels) {
  constexpr int64_t kMostStep = INT16_MAX;  // from an output to the next
  const int64_t step = int64_t{channels} * (dwconv_map_s8_turned(ow, oh) ? ow : 1);
  if (channels % kDwconvMapChannels != 0 || step > kMostStep) return -1;
  for (int32_t i = 0; i < kDwconvMapS8Count; ++i)
    if ((kDwconvMapS8Kernels[i].isa & ~isa) == 0 && (kDwconvMapS8Kernels[i].superseded_by & isa) == 0)
      return i;
  return -1;
}

int64_t dwconv_map_s8_scratch_bytes(int32_t ow, int32_t oh, int32_t stride) {
  constexpr int64_t kLines = 3, kTableBytes = 13 * 4;  // a channel's
  const int64_t plane = dwconv_map_s8_pairs(ow, oh, stride) * kLines * 4;
  return (kDwconvMapChannels * (plane + kTableBytes) + 63) & ~int64_t{63};
}

}  // namespace intaglio
