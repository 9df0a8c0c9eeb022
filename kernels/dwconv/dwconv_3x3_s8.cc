#include "kernels/dwconv/dwconv_3x3_s8.h"

#include "kernels/compiled_isa.h"

namespace intaglio {

#define ITG_DWCONV_3X3_S8(isa, ...) void dwconv_3x3_s8_##isa(const Dwconv3x3S8Args& args);
#include "kernels/dwconv/dwconv_3x3_s8_kernels.inc"
#undef ITG_DWCONV_3X3_S8

namespace {

#define ITG_DWCONV_3X3_S8(isa, ...)                 \
  ITG_KERNEL(Dwconv3x3S8Kernel, dwconv_3x3_s8, isa, \
             ITG_COMPILED(isa, k.function = dwconv_3x3_s8_##isa;) __VA_ARGS__)
constexpr Dwconv3x3S8Kernel kKernels[] = {
#include "kernels/dwconv/dwconv_3x3_s8_kernels.inc"
    {},  // there may be no other
};
#undef ITG_DWCONV_3X3_S8

constexpr int32_t kCount = sizeof kKernels / sizeof kKernels[0] - 1;
constexpr int32_t kOutputLines = 2, kTaps = 3, kInputLines = 4;

int32_t output_lines(const Dwconv3x3S8Kernel& kernel) { return kernel.quad == 1 ? 1 : kOutputLines; }

int32_t position_bytes(const Dwconv3x3S8Kernel& kernel) {
  return 4 + 4 + output_lines(kernel) * kTaps * kInputLines * (kernel.quad == 2 ? 2 : 1);
}

Dwconv3x3Block block_at(const Dwconv3x3S8Kernel& kernel, int32_t channels, int32_t first) {
  return dwconv_3x3_s8_block(kernel.max_block, kernel.min_block, channels, first);
}

// The channel at position p; -1: none.
int32_t channel_at(const Dwconv3x3S8Kernel& kernel, const Dwconv3x3Block& block, int32_t p) {
  const int32_t vectors = kernel.quad, lanes = block.width / vectors;
  const int32_t vector = p / lanes, lane = p % lanes;
  int32_t channel = lane / 4 * 4 * vectors + 4 * vector + lane % 4;
  if (block.width == 16 && channel >= 8) channel -= 16 - block.count;
  return channel < block.count ? block.start + channel : -1;
}

}  // namespace

int32_t dwconv_3x3_s8_count() { return kCount; }
const Dwconv3x3S8Kernel& dwconv_3x3_s8_kernel(int32_t index) { return kKernels[index]; }

int32_t dwconv_3x3_s8_select(IsaMask isa) {
  for (int32_t i = 0; i < kCount; ++i)
    if ((kKernels[i].isa & ~isa) == 0) return i;
  return -1;
}

bool dwconv_3x3_s8_fits(const Dwconv3x3S8Kernel& kernel, const int8_t* weights, int32_t channels) {
  const ptrdiff_t line = static_cast<ptrdiff_t>(kTaps) * channels;
  for (ptrdiff_t i = 0; kernel.quad == 1 && i < line; ++i)
    if (weights[i] == -128 && weights[line + i] == -128) return false;
  return true;
}

int64_t dwconv_3x3_s8_packed_bytes(const Dwconv3x3S8Kernel& kernel, int32_t channels) {
  int64_t positions = 0;
  for (int32_t first = 0; first < channels;) {
    const Dwconv3x3Block block = block_at(kernel, channels, first);
    positions += block.width;
    first = block.start + block.count;
  }
  return positions * position_bytes(kernel);
}

void dwconv_3x3_s8_pack(const Dwconv3x3S8Kernel& kernel, const int8_t* weights, const int32_t* folded_bias,
                        const float* multiplier, int32_t channels, void* packed) {
  auto* out = static_cast<uint8_t*>(packed);
  const int32_t quad = kernel.quad;
  for (int32_t first = 0; first < channels;) {
    const Dwconv3x3Block block = block_at(kernel, channels, first);
    const int32_t width = block.width;
    memset(out, 0, static_cast<size_t>(width) * static_cast<size_t>(position_bytes(kernel)));
    for (int32_t p = 0; p < width; ++p) {
      const int32_t c = channel_at(kernel, block, p);
      if (c < 0) continue;
      uint32_t sum = 0;
      for (ptrdiff_t t = 0; t < kTaps * kTaps; ++t)
        sum += static_cast<uint32_t>(int32_t{weights[t * channels + c]});
      const uint32_t bias =
          static_cast<uint32_t>(folded_bias[c]) - static_cast<uint32_t>(kernel.lhs_offset) * sum;
      memcpy(out + 4 * p, &bias, sizeof bias);
      memcpy(out + 4 * (width + p), &multiplier[c], sizeof multiplier[c]);
      for (ptrdiff_t line = 0; line < output_lines(kernel); ++line)
        for (ptrdiff_t t = 0; t < kTaps * kTaps; ++t) {
          const ptrdiff_t ky = t / kTaps + line, kx = t % kTaps;
          const ptrdiff_t at =
              (((line * kTaps + kx) * (kInputLines / quad) + ky / quad) * width + p) * quad + ky % quad;
          const int8_t byte = weights[t * channels + c];
          const int16_t word = byte;
          uint8_t* const to = out + ptrdiff_t{8} * width;
          if (quad == 2) {
            memcpy(to + 2 * at, &word, sizeof word);
          } else {
            memcpy(to + at, &byte, sizeof byte);
          }
        }
    }
    out += static_cast<ptrdiff_t>(width) * position_bytes(kernel);
    first = block.start + block.count;
  }
}

}  // namespace intaglio
