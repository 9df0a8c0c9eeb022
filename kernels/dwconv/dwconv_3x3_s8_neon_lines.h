// dwconv_3x3_s8 on NEON: what sixteen channels' columns share. dwconv_3x3_s8_<isa>.cc says how codes are held
// and multiplied.
#pragma once

#include "kernels/arithmetic/loads_neon.h"
#include "kernels/arithmetic/requant_neon.h"
#include "kernels/dwconv/dwconv_3x3_s8_lines.h"

namespace intaglio {
namespace {

struct Sixteen {
  using Codes = int8x16_t;
  struct Part {
    ptrdiff_t upper;  // where the upper eight channels are: a block of eight to sixteen
    bool whole;
  };
  struct Limits {
    OutputNeon output;
  };
  using Sum = int32x4_t;
  static constexpr int32_t kWidth = 16, kSums = 4;

  static Part part(int32_t count) { return {count - 8, count == 16}; }
  static Limits limits(const OutputS8& requant, int32_t, int32_t) { return {make_output_neon(requant)}; }
  __attribute__((always_inline)) static inline void load(Codes* rows, const void* const* lines,
                                                         const Part& part) {
    if (__builtin_expect(part.whole, 1)) {
#pragma GCC unroll 4
      for (int32_t i = 0; i < 4; ++i) rows[i] = vld1q_s8(static_cast<const int8_t*>(lines[i]));
    } else {
#pragma GCC unroll 4
      for (int32_t i = 0; i < 4; ++i) {
        const auto* const from = static_cast<const int8_t*>(lines[i]);
        rows[i] = vcombine_s8(vld1_s8(from), vld1_s8(from + part.upper));
      }
    }
  }
  static Sum bias(const int8_t* head, int32_t v) {
    return vld1q_s32(reinterpret_cast<const int32_t*>(head) + 4 * v);
  }
  __attribute__((always_inline)) static inline Codes narrow(Sum* acc, const int8_t* multiplier,
                                                            const Limits& limits, bool) {
    const auto* const m = reinterpret_cast<const float*>(multiplier);
    return requantize_neon(acc[0], acc[1], acc[2], acc[3], vld1q_f32(m), vld1q_f32(m + 4), vld1q_f32(m + 8),
                           vld1q_f32(m + 12), limits.output);
  }
  static void store(int8_t* to, Codes codes, const Part& part) {
    if (__builtin_expect(part.whole, 1)) return vst1q_s8(to, codes);
    vst1_s8(to, vget_low_s8(codes));
    vst1_s8(to + part.upper, vget_high_s8(codes));
  }
};

#if defined(__aarch64__)

// A block of sixteen channels, or eight alone, along one or two lines of output: run_lines() without moves from column to
// column, and with weights loaded in pairs. A column of one line of output is held without the fourth line.
template <typename V, int32_t Channels, int32_t Lines, int32_t Stride>
class WholeLines {
 public:
  using Column = typename V::Column;
  using Sum = typename V::Sum;

  WholeLines(const Dwconv3x3S8Args& args, int32_t first, const int8_t* head)
      : output_(make_output_neon(args.requant)),
        head_(head),
        padding_(args.padding + first),
        out_step_(args.channels),
        x_(-args.pad_left),
        w_(static_cast<uint32_t>(args.w)),
        left_(args.ow) {
    for (int32_t i = 0; i < kLines; ++i) {
      steps_[i] = args.steps[i];
      lines_[i] = reinterpret_cast<uintptr_t>(args.lines[i] + first) -
                  static_cast<uintptr_t>(args.steps[i] * args.pad_left);
    }
    // Where there is no second line, it is computed all the same, and the first is stored over it.
    for (int32_t j = 0; j < Lines; ++j)
      y_[j] = (args.output[j] != nullptr ? args.output[j] : args.output[0]) + first;
  }

  __attribute__((always_inline)) inline void run() {
    Column a, b, c;
    next(&a);
    if (Stride == 2) {
      do {
        next(&b);
        next(&c);
        if (!output(a, b, c)) return;
        next(&b);
        next(&a);
      } while (output(c, b, a));
    } else {
      next(&b);
      do {
        next(&c);
        if (!output(a, b, c)) return;
        next(&a);
        if (!output(b, c, a)) return;
        next(&b);
      } while (output(c, a, b));
    }
  }

 private:
  static constexpr int32_t kLines = Lines + 2;

  __attribute__((always_inline)) static inline int8x16_t load(const int8_t* from) {
    return Channels == 16 ? vld1q_s8(from) : load_eight_neon(from);
  }

  // The next column; lines outside their picture are no pointers.
  __attribute__((always_inline)) inline void next(Column* column) {
    int8x16_t rows[4];
    if (__builtin_expect(static_cast<uint32_t>(x_) < w_, 1)) {
#pragma GCC unroll 4
      for (int32_t i = 0; i < kLines; ++i) rows[i] = load(reinterpret_cast<const int8_t*>(lines_[i]));
    } else {
      rows[0] = load(padding_);
#pragma GCC unroll 4
      for (int32_t i = 1; i < kLines; ++i) rows[i] = rows[0];
    }
    if (kLines == 3) rows[3] = rows[2];
#pragma GCC unroll 4
    for (int32_t i = 0; i < kLines; ++i) lines_[i] += static_cast<uintptr_t>(steps_[i]);
    ++x_;
    *column = V::hold(rows);
  }

  // One column of output; false: it was the last one.
  __attribute__((always_inline)) inline bool output(const Column& a, const Column& b, const Column& c) {
    constexpr int32_t kVectors = Channels / 4, kMultipliers = 4 * 16;
    Sum acc[Lines][4];
#pragma GCC unroll 2
    for (int32_t j = Lines - 1; j >= 0; --j)
#pragma GCC unroll 2
      for (int32_t v = 0; v < kVectors; v += 2) {
        const BiasesNeon bias = load_biases_neon(reinterpret_cast<const int32_t*>(head_) + 4 * v);
        acc[j][v] = bias.first;
        acc[j][v + 1] = bias.second;
      }
    V::template add_taps<Lines, kVectors, 0>(acc, a, head_);
    V::template add_taps<Lines, kVectors, 1>(acc, b, head_);
    V::template add_taps<Lines, kVectors, 2>(acc, c, head_);
    const TwoNeon low = load_two_neon<kMultipliers>(head_);
    const TwoNeon high = Channels == 16 ? load_two_neon<kMultipliers + 32>(head_) : low;
#pragma GCC unroll 2
    for (int32_t j = Lines - 1; j >= 0; --j) {
      const Sum* const upper = acc[j] + (Channels == 16 ? 2 : 0);
      const int8x16_t codes =
          requantize_neon(acc[j][0], acc[j][1], upper[0], upper[1], vreinterpretq_f32_s8(low.first),
                          vreinterpretq_f32_s8(low.second), vreinterpretq_f32_s8(high.first),
                          vreinterpretq_f32_s8(high.second), output_);
      if (Channels == 16)
        vst1q_s8(y_[j], codes);
      else
        vst1_s8(y_[j], vget_low_s8(codes));
      y_[j] += out_step_;
    }
    return --left_ > 0;
  }

  const OutputNeon output_;
  const int8_t* const head_;
  const int8_t* const padding_;
  const ptrdiff_t out_step_;
  uintptr_t lines_[kLines];
  ptrdiff_t steps_[kLines];
  int8_t* y_[Lines];
  int32_t x_;
  const uint32_t w_;
  int32_t left_;
};

template <typename V, int32_t Channels, int32_t Lines, int32_t Stride>
__attribute__((noinline)) void run_whole_lines(const Dwconv3x3S8Args& args, int32_t first,
                                               const int8_t* head) {
  WholeLines<V, Channels, Lines, Stride>(args, first, head).run();
}

template <typename V, int32_t Lines>
inline void run_lines_neon(const Dwconv3x3S8Args& args, const Dwconv3x3Block& block, const int8_t* head) {
  const int32_t stride = Lines == 2 ? 1 : args.stride;
  if ((block.count != 16 && block.count != 8) || args.ow < 1) return run_lines<V, Lines>(args, block, head);
  const auto run = block.count == 16
                       ? (stride == 1 ? run_whole_lines<V, 16, Lines, 1> : run_whole_lines<V, 16, 1, 2>)
                       : (stride == 1 ? run_whole_lines<V, 8, Lines, 1> : run_whole_lines<V, 8, 1, 2>);
  run(args, block.start, head);
}

#endif

}  // namespace
}  // namespace intaglio
