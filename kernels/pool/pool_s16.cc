#include "kernels/pool/pool.h"

namespace intaglio {
namespace {

// Channels of one pass over the taps: a register of any machine with vectors.
constexpr int32_t kBlock = 8;

// Calls take(state, i, code) for each tap's codes of `channels` of a block; a whole one's state stays in registers.
template <typename State, typename Take>
inline void take_codes(State* state, const int16_t* x, const Taps& taps, int32_t channels, Take take) {
  if (channels != kBlock)
    return for_each_tap(taps, [&](ptrdiff_t offset) {
      for (int32_t i = 0; i < channels; ++i) state[i] = take(state[i], x[offset + i]);
    });
  State own[kBlock];
  memcpy(own, state, sizeof own);
  for_each_tap(taps, [&](ptrdiff_t offset) {
    for (int32_t i = 0; i < kBlock; ++i) own[i] = take(own[i], x[offset + i]);
  });
  memcpy(state, own, sizeof own);
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
    take_codes(sums, x + c, taps, some, [](int32_t sum, int16_t code) { return sum + code; });
    for (int32_t i = 0; i < some; ++i) y[c + i] = requantize_s16(sums[i], multiplier, output);
  }
}

void max_s16(const int16_t* x, const Taps& taps, int32_t lo, int32_t hi, int16_t* y, int32_t channels) {
  const bool is_empty = taps_count(taps) == 0;
  for (int32_t c = 0; c < channels; c += kBlock) {
    int16_t best[kBlock];
    const int32_t some = block_of(channels, c);
    for (int16_t& code : best) code = is_empty ? 0 : -32768;
    take_codes(best, x + c, taps, some, [](int16_t a, int16_t b) { return a > b ? a : b; });
    for (int32_t i = 0; i < some; ++i) {
      const int32_t best_code = best[i], q = best_code < lo ? lo : best_code;
      y[c + i] = static_cast<int16_t>(q > hi ? hi : q);
    }
  }
}

}  // namespace intaglio
