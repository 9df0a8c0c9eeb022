#include "kernels/winograd/winograd_s8.h"

namespace intaglio {

#define ITG_WINOGRAD_S8(isa, ...) void winograd_s8_##isa(const WinogradS8Args& args);
#include "kernels/winograd/winograd_s8_kernels.inc"
#undef ITG_WINOGRAD_S8

namespace {

// One more than there are: a list may be empty.
#define ITG_WINOGRAD_S8(isa, ...)                \
  ITG_KERNEL(WinogradS8Kernel, winograd_s8, isa, \
             ITG_COMPILED(isa, k.function = winograd_s8_##isa;) __VA_ARGS__)
constexpr WinogradS8Kernel kKernels[] = {
#include "kernels/winograd/winograd_s8_kernels.inc"
    {}};
#undef ITG_WINOGRAD_S8

constexpr int32_t kCount = sizeof kKernels / sizeof kKernels[0] - 1;
constexpr int32_t kTaps = 3;
constexpr int32_t kMostRun = 32;  // kr * nr

constexpr bool runs_fit() {
  for (const WinogradS8Kernel& kernel : kKernels)
    if (kernel.kr * kernel.nr > kMostRun) return false;
  return true;
}
static_assert(runs_fit(), "the packer's block holds every kernel's");

// Where it is faster, as measured (benchmarks/tried.md).
constexpr int32_t kLeastTiles = 4;
constexpr int64_t kMostWaste[2] = {8, 5};    // outputs computed of those wanted
constexpr int64_t kMostWeights = 128 * 128;  // ic * oc: packed they take 72 bytes each

// 24 times the weights' transform, its last row a quarter of that: the output's transform has the factor.
void transform_three(int32_t a, int32_t b, int32_t c, int32_t to[kWinogradPatch]) {
  const int32_t even = -4 * (a + c), wide = a + 4 * c;
  to[0] = 6 * a;
  to[1] = even - 4 * b;
  to[2] = even + 4 * b;
  to[3] = wide + 2 * b;
  to[4] = wide - 2 * b;
  to[5] = 6 * c;
}

// U of one column and one depth, from tap to tap `step`; the next position's is `to_step` further.
void transform_weights(const int8_t* w, ptrdiff_t step, int16_t* to, ptrdiff_t to_step) {
  int32_t half[kTaps][kWinogradPatch], whole[kWinogradPatch];
  for (int32_t x = 0; x < kTaps; ++x)
    transform_three(w[x * step], w[(kTaps + x) * step], w[(2 * kTaps + x) * step], half[x]);
  for (int32_t i = 0; i < kWinogradPatch; ++i) {
    transform_three(half[0][i], half[1][i], half[2][i], whole);
    for (int32_t j = 0; j < kWinogradPatch; ++j, to += to_step) *to = static_cast<int16_t>(whole[j]);
  }
}

int32_t column_at(const WinogradS8Kernel& kernel, int32_t p) {
  if (kernel.lanes == 0) return p;
  const int32_t vector = p / kernel.lanes, lane = p % kernel.lanes;
  return lane / 4 * 4 * (kernel.nr / kernel.lanes) + 4 * vector + lane % 4;
}

int64_t panel_bytes(const WinogradS8Kernel& kernel, int32_t ic) {
  return int64_t{kernel.nr} * (8 + int64_t{kWinogradPositions} * ic * 2);
}

}  // namespace

int32_t winograd_s8_count() { return kCount; }
const WinogradS8Kernel& winograd_s8_kernel(int32_t index) { return kKernels[index]; }

int32_t winograd_s8_select(IsaMask isa, const WinogradS8Shape& shape) {
  const auto [oh, ow, ic, oc] = shape;
  const int64_t tiles = ((int64_t{oh} + kWinogradTile - 1) / kWinogradTile) *
                        ((int64_t{ow} + kWinogradTile - 1) / kWinogradTile);
  // Fewer tiles do not fill a kernel's registers, and their outputs may be cut off.
  const bool pays = tiles >= kLeastTiles &&
                    tiles * kWinogradTile * kWinogradTile * kMostWaste[1] <= int64_t{oh} * ow * kMostWaste[0];
  if (!pays || ic > kWinogradMaxDepth || int64_t{ic} * oc > kMostWeights) return -1;
  for (int32_t i = 0; i < kCount; ++i) {
    const WinogradS8Kernel& kernel = kKernels[i];
    if ((kernel.isa & ~isa) == 0 && (kernel.superseded_by & isa) == 0 && ic % kernel.channels == 0 &&
        oc % kernel.nr == 0)
      return i;
  }
  return -1;
}

int64_t winograd_s8_scratch_bytes(const WinogradS8Kernel& kernel, int32_t ic) {
  const int64_t transformed = int64_t{kWinogradPositions} * kernel.tiles * ic * 2,
                sums = int64_t{kWinogradPositions} * kernel.tiles * kernel.nr * 4,
                patch = int64_t{kWinogradPositions} * ic;
  return (transformed + sums + patch + 63) & ~int64_t{63};
}

int64_t winograd_s8_packed_bytes(const WinogradS8Kernel& kernel, int32_t ic, int32_t oc) {
  return oc / kernel.nr * panel_bytes(kernel, ic);
}

void winograd_s8_pack(const WinogradS8Kernel& kernel, const int8_t* weights, const int32_t* folded_bias,
                      const float* multiplier, int32_t ic, int32_t oc, void* packed) {
  auto* panel = static_cast<uint8_t*>(packed);
  const int32_t nr = kernel.nr, kr = kernel.kr;
  for (int32_t first = 0; first < oc; first += nr, panel += panel_bytes(kernel, ic)) {
    for (int32_t p = 0; p < nr; ++p) {
      const int32_t c = first + column_at(kernel, p);
      memcpy(panel + ptrdiff_t{4} * p, &folded_bias[c], 4);
      memcpy(panel + ptrdiff_t{4} * (nr + p), &multiplier[c], 4);
    }
    // Some depths of all columns first: positions are a power of two apart, as a rule, which few lines of a cache hold at once.
    auto* const u = panel + ptrdiff_t{8} * nr;
    const ptrdiff_t run = ptrdiff_t{kr} * nr;
    int16_t block[kWinogradPositions * kMostRun];
    for (int32_t i = 0; i < ic; i += kr) {
      for (int32_t p = 0; p < nr; ++p)
        for (int32_t j = 0; j < kr; ++j)
          transform_weights(weights + ptrdiff_t{kTaps * kTaps} * ic * (first + column_at(kernel, p)) + i + j,
                            ic, block + ptrdiff_t{p} * kr + j, run);
      for (ptrdiff_t position = 0; position < kWinogradPositions; ++position)
        memcpy(u + (position * ic + i) * nr * 2, block + position * run, static_cast<size_t>(run) * 2);
    }
  }
}

}  // namespace intaglio
