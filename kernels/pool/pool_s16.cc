#include "kernels/pool/pool_s16.h"

namespace intaglio {
namespace {

// Channels of one pass over the taps.
constexpr int32_t kBlock = 16;

// Calls combine(i, code) for each tap's codes of a block of channels, i counted from the block's first.
template <typename Combine>
inline void for_each_code(const int16_t* x, const Taps& taps, int32_t channels, Combine combine) {
  for_each_tap(taps, [&](ptrdiff_t offset) {
    const int16_t* const tap = x + offset;
    if (channels == kBlock) {
      for (int32_t i = 0; i < kBlock; ++i) combine(i, tap[i]);
    } else {
      for (int32_t i = 0; i < channels; ++i) combine(i, tap[i]);
    }
  });
}

inline int32_t block_of(int32_t channels, int32_t first) {
  return channels - first < kBlock ? channels - first : kBlock;
}

}  // namespace

void average_s16(const int16_t* x, const Taps& taps, float multiplier, const OutputS16& output, int16_t* y,
                 int32_t channels) {
  for (int32_t c = 0; c < channels; c += kBlock) {
    int32_t sums[kBlock] = {};
    const int32_t some = block_of(channels, c);
    for_each_code(x + c, taps, some, [&](int32_t i, int32_t code) { sums[i] += code; });
    for (int32_t i = 0; i < some; ++i) y[c + i] = requantize_s16(sums[i], multiplier, output);
  }
}

void max_s16(const int16_t* x, const Taps& taps, int32_t lo, int32_t hi, int16_t* y, int32_t channels) {
  const bool is_empty = taps_count(taps) == 0;
  for (int32_t c = 0; c < channels; c += kBlock) {
    int32_t best[kBlock];
    const int32_t some = block_of(channels, c);
    for (int32_t& code : best) code = is_empty ? 0 : -32768;
    for_each_code(x + c, taps, some,
                  [&](int32_t i, int32_t code) { best[i] = best[i] > code ? best[i] : code; });
    for (int32_t i = 0; i < some; ++i) {
      const int32_t q = best[i] < lo ? lo : best[i];
      y[c + i] = static_cast<int16_t>(q > hi ? hi : q);
    }
  }
}

}  // namespace intaglio
