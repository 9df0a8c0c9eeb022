#include "kernels/dwconv/dwconv_map_s8.h"

namespace intaglio {

#define ITG_DWCONV_MAP_S8(isa, ...) void dwconv_map_s8_##isa(const DwconvMapS8Args& args);
#include "kernels/dwconv/dwconv_map_s8_kernels.inc"
#undef ITG_DWCONV_MAP_S8

namespace {

// One more than there are: a list may be empty.
#define ITG_DWCONV_MAP_S8(isa, ...)                 \
  ITG_KERNEL(DwconvMapS8Kernel, dwconv_map_s8, isa, \
             ITG_COMPILED(isa, k.function = dwconv_map_s8_##isa;) __VA_ARGS__)
constexpr DwconvMapS8Kernel kKernels[] = {
#include "kernels/dwconv/dwconv_map_s8_kernels.inc"
    {nullptr, 0, 0, nullptr}};
#undef ITG_DWCONV_MAP_S8

constexpr int32_t kCount = sizeof kKernels / sizeof kKernels[0] - 1;

}  // namespace

int32_t dwconv_map_s8_count() { return kCount; }
const DwconvMapS8Kernel& dwconv_map_s8_kernel(int32_t index) { return kKernels[index]; }

int32_t dwconv_map_s8_select(IsaMask isa, int32_t ow, int32_t oh, int32_t channels) {
  constexpr int64_t kMostStep = INT16_MAX;  // from an output to the next
  const int64_t step = int64_t{channels} * (dwconv_map_s8_turned(ow, oh) ? ow : 1);
  if (channels % kDwconvMapChannels != 0 || step > kMostStep) return -1;
  for (int32_t i = 0; i < kCount; ++i)
    if ((kKernels[i].isa & ~isa) == 0 && (kKernels[i].superseded_by & isa) == 0) return i;
  return -1;
}

int64_t dwconv_map_s8_scratch_bytes(int32_t ow, int32_t oh, int32_t stride) {
  constexpr int64_t kLines = 3, kTableBytes = 13 * 4;  // a channel's
  const int64_t plane = dwconv_map_s8_pairs(ow, oh, stride) * kLines * 4;
  return (kDwconvMapChannels * (plane + kTableBytes) + 63) & ~int64_t{63};
}

}  // namespace intaglio
