// Depthwise convolutions, int8 to int8 and to FP32.
//
// Sixteen channels of a pixel at a time. Taps are taken in pairs, whose products are summed in int16 and then
// widened; that fits unless a channel's two weights are -128 both, which is looked at once a block: there
// each product is widened on its own.
#include "kernels/arithmetic/output_f32_neon.h"
#include "kernels/arithmetic/requant_neon.h"
#include "kernels/dwconv/dwconv_s8.h"

namespace intaglio {
namespace {

constexpr int32_t kBlock = 16;

struct Sums {
  int32x4_t v[4];  // of sixteen channels
};

inline void add_products(Sums* sums, int16x8_t low, int16x8_t high) {
  sums->v[0] = add_low_neon(sums->v[0], low);
  sums->v[1] = add_high_neon(sums->v[1], low);
  sums->v[2] = add_low_neon(sums->v[2], high);
  sums->v[3] = add_high_neon(sums->v[3], high);
}

inline void add_tap(Sums* sums, int8x16_t x, int8x16_t w) {
  add_products(sums, multiply_low_neon(x, w), multiply_high_neon(x, w));
}

template <bool Fits>
inline void add_two_taps(Sums* sums, int8x16_t x0, int8x16_t w0, int8x16_t x1, int8x16_t w1) {
  if (Fits) {
    const int16x8_t low = multiply_add_low_neon(multiply_low_neon(x0, w0), x1, w1);
    add_products(sums, low, multiply_add_high_neon(multiply_high_neon(x0, w0), x1, w1));
  } else {
    add_tap(sums, x0, w0);
    add_tap(sums, x1, w1);
  }
}

// Sixteen channels in memory: those of a block, or copies of fewer with zeros behind them.
struct Block {
  const int8_t* weights;
  ptrdiff_t weight_stride;
  const int32_t* bias;
  const float* multiplier;
};

// True where no two taps of a pair have weights of -128 in one channel.
__attribute__((always_inline)) inline bool pairs_fit(const Block& block, int32_t taps) {
  const int8x16_t least = vdupq_n_s8(-128);
  uint8x16_t both = vdupq_n_u8(0);
  const int8_t* w = block.weights;
  for (int32_t t = 0; t + 1 < taps; t += 2, w += 2 * block.weight_stride)
    both = vorrq_u8(
        both, vandq_u8(vceqq_s8(vld1q_s8(w), least), vceqq_s8(vld1q_s8(w + block.weight_stride), least)));
  uint64_t words[2];
  memcpy(words, &both, sizeof words);
  return (words[0] | words[1]) == 0;
}

inline Sums biases(const Block& block) {
  Sums sums;
  for (int32_t i = 0; i < 4; ++i) sums.v[i] = vld1q_s32(block.bias + 4 * i);
  return sums;
}

// `end.store(pixel, first, sums, multiplier)` stores sixteen channels from `first` on. Multipliers stay in memory: a
// pixel's weights and sums need the registers. By value: what it stores could be its own members, as far as the compiler knows.
template <bool Fits, typename End>
void any_taps(const DwconvS8Args& args, const Block& block, int32_t first, End end) {
  const Sums bias = biases(block);
  const int8_t* const* rows = args.rows;
  for (int32_t p = 0; p < args.pixels; ++p) {
    Sums sums = bias;
    const int8_t* w = block.weights;
    int32_t t = 0;
    for (; t + 1 < args.taps; t += 2, rows += 2, w += 2 * block.weight_stride)
      add_two_taps<Fits>(&sums, vld1q_s8(rows[0] + first), vld1q_s8(w), vld1q_s8(rows[1] + first),
                         vld1q_s8(w + block.weight_stride));
    if (t < args.taps) add_tap(&sums, vld1q_s8(*rows++ + first), vld1q_s8(w));
    end.store(p, first, sums, block.multiplier);
  }
}

#if defined(__aarch64__)

// 3x3, with all weights in registers.
template <bool Fits, typename End>
void nine_taps(const DwconvS8Args& args, const Block& block, int32_t first, End end) {
  const Sums bias = biases(block);
  int8x16_t w[9];
#pragma GCC unroll 9
  for (int32_t t = 0; t < 9; ++t) w[t] = vld1q_s8(block.weights + t * block.weight_stride);
  const int8_t* const* rows = args.rows;
  for (int32_t p = 0; p < args.pixels; ++p, rows += 9) {
    Sums sums = bias;
#pragma GCC unroll 4
    for (int32_t t = 0; t < 8; t += 2)
      add_two_taps<Fits>(&sums, vld1q_s8(rows[t] + first), w[t], vld1q_s8(rows[t + 1] + first), w[t + 1]);
    add_tap(&sums, vld1q_s8(rows[8] + first), w[8]);
    end.store(p, first, sums, block.multiplier);
  }
}

#endif

template <typename End>
void whole_block(const DwconvS8Args& args, int32_t first, const End& end) {
  const Block block = {args.weights + first, args.channels, args.folded_bias + first,
                       args.multiplier + first};
  const bool fits = pairs_fit(block, args.taps);
#if defined(__aarch64__)
  if (args.taps == 9)
    return fits ? nine_taps<true>(args, block, first, end) : nine_taps<false>(args, block, first, end);
#endif
  return fits ? any_taps<true>(args, block, first, end) : any_taps<false>(args, block, first, end);
}

// Fewer channels than a block has, as sixteen lanes: the first eight and the last eight of eight or more,
// which may overlap, or all of them and zeros.
inline int8x16_t load_few(const int8_t* from, int32_t channels) {
  if (channels >= 8) return vcombine_s8(vld1_s8(from), vld1_s8(from + channels - 8));
  int8_t some[kBlock] = {};
  memcpy(some, from, static_cast<size_t>(channels));
  return vld1q_s8(some);
}

// end.store_few(pixel, sums, multiplier) stores them.
template <typename End>
void few_channels(const DwconvS8Args& args, End end) {
  const int32_t channels = args.channels, taps = args.taps;
  int32_t bias[kBlock];
  float multiplier[kBlock];
  for (int32_t i = 0; i < kBlock; ++i) {
    const int32_t c = channels >= 8 && i >= 8 ? channels - kBlock + i : i;  // as load_few orders them
    bias[i] = c < channels ? args.folded_bias[c] : 0;
    multiplier[i] = c < channels ? args.multiplier[c] : 0.0f;
  }
  auto* const weights = static_cast<int8_t*>(args.scratch);
  for (int32_t t = 0; t < taps; ++t)
    vst1q_s8(weights + t * kBlock, load_few(args.weights + static_cast<ptrdiff_t>(t) * channels, channels));
  const Sums first = biases({weights, kBlock, bias, multiplier});
  const int8_t* const* rows = args.rows;
  for (int32_t p = 0; p < args.pixels; ++p, rows += taps) {
    Sums sums = first;
    for (int32_t t = 0; t < taps; ++t)
      add_tap(&sums, load_few(rows[t], channels), vld1q_s8(weights + t * kBlock));
    end.store_few(p, sums, multiplier);
  }
}

template <typename End>
inline void for_blocks(const DwconvS8Args& args, const End& end) {
  const int32_t c = args.channels;
  if (c < kBlock) return few_channels(args, end);
  int32_t first = 0;
  for (; first + kBlock <= c; first += kBlock) whole_block(args, first, end);
  if (first < c) whole_block(args, c - kBlock, end);
}

class Codes {
 public:
  explicit Codes(const DwconvS8Args& args)
      : output_(make_output_neon(args.requant)),
        y_(args.output),
        y_stride_(args.output_stride),
        channels_(args.channels) {}

  void store(int32_t p, int32_t first, const Sums& sums, const float* m) const {
    vst1q_s8(at(p) + first, codes(sums, m));
  }

  void store_few(int32_t p, const Sums& sums, const float* m) const {
    const int8x16_t q = codes(sums, m);
    int8_t* const to = at(p);
    if (channels_ >= 8) {
      vst1_s8(to, vget_low_s8(q));
      vst1_s8(to + channels_ - 8, vget_high_s8(q));
      return;
    }
    int8_t some[kBlock];
    vst1q_s8(some, q);
    memcpy(to, some, static_cast<size_t>(channels_));
  }

 private:
  int8_t* at(int32_t p) const { return y_ + static_cast<size_t>(p) * y_stride_; }
  int8x16_t codes(const Sums& sums, const float* m) const {
    return requantize_neon(sums.v[0], sums.v[1], sums.v[2], sums.v[3], vld1q_f32(m), vld1q_f32(m + 4),
                           vld1q_f32(m + 8), vld1q_f32(m + 12), output_);
  }

  const OutputNeon output_;
  int8_t* const y_;
  const size_t y_stride_;
  const int32_t channels_;
};

}  // namespace

void dwconv_s8_neon(const DwconvS8Args& args);

void dwconv_s8_neon(const DwconvS8Args& args) { for_blocks(args, Codes(args)); }

namespace {

class Reals {
 public:
  explicit Reals(const DwconvS8F32Args& args)
      : finish_(args.clamp), y_(args.y), y_stride_(args.y_stride), channels_(args.channels) {}

  void store(int32_t p, int32_t first, const Sums& sums, const float* m) const {
    store_at(at(p) + first, sums, m);
  }

  void store_few(int32_t p, const Sums& sums, const float* m) const {
    float some[kBlock];
    store_at(some, sums, m);
    const int32_t eights = channels_ >= 8 ? 8 : channels_;
    memcpy(at(p), some, static_cast<size_t>(eights) * sizeof *some);
    if (channels_ >= 8) memcpy(at(p) + channels_ - 8, some + 8, 8 * sizeof *some);
  }

 private:
  float* at(int32_t p) const { return y_ + static_cast<size_t>(p) * y_stride_; }
  void store_at(float* to, const Sums& sums, const float* m) const {
#pragma GCC unroll 4
    for (int32_t i = 0; i < 4; ++i) vst1q_f32(to + 4 * i, finish_(sums.v[i], vld1q_f32(m + 4 * i)));
  }

  const FinishSums finish_;
  float* const y_;
  const size_t y_stride_;
  const int32_t channels_;
};

}  // namespace

void dwconv_s8_f32_neon(const DwconvS8F32Args& args);

void dwconv_s8_f32_neon(const DwconvS8F32Args& args) { for_blocks(args, Reals(args)); }

}  // namespace intaglio
