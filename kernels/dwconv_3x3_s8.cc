#include "kernels/dwconv_3x3_s8.h"

#include "kernels/compiled_isa.h"

namespace intaglio {

#define ITG_DWCONV_3X3_S8(suffix, isa, lhs_offset, max_block) \
  void dwconv_3x3_s8_##suffix(const Dwconv3x3S8Args& args);
#include "kernels/dwconv_3x3_s8_kernels.inc"
#undef ITG_DWCONV_3X3_S8

namespace {

#define ITG_DWCONV_3X3_S8(suffix, isa, lhs_offset, max_block)                         \
  ITG_LISTED_##isa({"dwconv_3x3_s8_" #suffix, ITG_NEEDS_##isa, lhs_offset, max_block, \
                    ITG_COMPILED_##isa(dwconv_3x3_s8_##suffix)}, )
const Dwconv3x3S8Kernel kKernels[] = {
#include "kernels/dwconv_3x3_s8_kernels.inc"
    {},  // there may be no other
};
#undef ITG_DWCONV_3X3_S8

constexpr int32_t kCount = sizeof kKernels / sizeof kKernels[0] - 1;
constexpr int32_t kOutputLines = 2, kTaps = 3, kQuad = 4;
constexpr int32_t kChannelBytes = 4 + 4 + kOutputLines * kTaps * kQuad;

int32_t packed_width(int32_t width) { return width < 16 ? 16 : width; }

// The channel, within its block, that stands at position p.
int32_t block_channel(int32_t width, int32_t p) {
  const int32_t vector = p / (width / 4), lane = p % (width / 4);
  return 16 * (lane / 4) + 4 * vector + lane % 4;
}

}  // namespace

int32_t dwconv_3x3_s8_count() { return kCount; }
const Dwconv3x3S8Kernel& dwconv_3x3_s8_kernel(int32_t index) { return kKernels[index]; }

int32_t dwconv_3x3_s8_select(IsaMask isa) {
  for (int32_t i = 0; i < kCount; ++i)
    if ((kKernels[i].isa & ~isa) == 0) return i;
  return -1;
}

int64_t dwconv_3x3_s8_packed_bytes(const Dwconv3x3S8Kernel& kernel, int32_t channels) {
  int64_t bytes = 0;
  for (int32_t first = 0; first < channels;) {
    const int32_t width = dwconv_3x3_s8_block(kernel.max_block, channels, first);
    bytes += int64_t{packed_width(width)} * kChannelBytes;
    first += width;
  }
  return bytes;
}

void dwconv_3x3_s8_pack(const Dwconv3x3S8Kernel& kernel, const int8_t* weights, const int32_t* folded_bias,
                        const float* multiplier, int32_t channels, void* packed) {
  auto* out = static_cast<int8_t*>(packed);
  for (int32_t first = 0; first < channels;) {
    const int32_t width = dwconv_3x3_s8_block(kernel.max_block, channels, first);
    const int32_t start = dwconv_3x3_s8_start(channels, first, width);
    const int32_t positions = packed_width(width);
    memset(out, 0, static_cast<size_t>(positions) * kChannelBytes);
    for (int32_t p = 0; p < positions; ++p) {
      const int32_t channel = block_channel(positions, p), c = start + channel;
      if (channel >= width) continue;
      uint32_t sum = 0;
      for (ptrdiff_t t = 0; t < kTaps * kTaps; ++t)
        sum += static_cast<uint32_t>(int32_t{weights[t * channels + c]});
      const uint32_t bias =
          static_cast<uint32_t>(folded_bias[c]) - static_cast<uint32_t>(kernel.lhs_offset) * sum;
      memcpy(out + 4 * p, &bias, sizeof bias);
      memcpy(out + 4 * (positions + p), &multiplier[c], sizeof multiplier[c]);
    }
    out += 8 * positions;
    for (int32_t line = 0; line < kOutputLines; ++line)
      for (int32_t kx = 0; kx < kTaps; ++kx)
        for (int32_t p = 0; p < positions; ++p, out += kQuad) {
          const int32_t channel = block_channel(positions, p);
          for (ptrdiff_t ky = 0; ky < kTaps && channel < width; ++ky)
            out[ky + line] = weights[(ky * kTaps + kx) * channels + start + channel];
        }
    first += width;
  }
}

}  // namespace intaglio
