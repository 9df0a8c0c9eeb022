// dwconv_3x3_s8 for cores that issue in order, where a load of 128 bits blocks for two cycles: eight channels at once along
// one or two lines of output. Their weights stay in registers, columns are loads of 64 bits. dwconv_3x3_s8_<isa>.cc says how
// columns are held and multiplied. Volatile assembly: its order stays.
#pragma once

#include "kernels/arithmetic/loads_neon.h"
#include "kernels/arithmetic/requant_neon.h"
#include "kernels/dwconv/dwconv_3x3_s8_neon_lines.h"

namespace intaglio {
namespace {

// Eight codes to the lower half, zeros above.
inline int8x16_t load_codes(const void* from) {
  int8x16_t v;
  __asm__ volatile("ldr %d0, %1" : "=w"(v) : "m"(*static_cast<const int8_t(*)[8]>(from)));
  return v;
}

// The eight channels of a block from `channel` on, at place `place` of its 16. V::Column is a column of four lines, load<Lines>(from)
// makes it of three or four; V(head, place) holds the weights, add<Lines, Kx>(acc, column) adds the products of a column.
template <typename V, int32_t Lines, int32_t Stride>
class EightInOrder {
 public:
  using Column = typename V::Column;

  EightInOrder(const Dwconv3x3S8Args& args, int32_t channel, const int8_t* head, int32_t place)
      : products_(head, place),
        output_(make_output_neon(args.requant)),
        padding_(args.padding + channel),
        out_step_(args.channels),
        x_(-args.pad_left),
        w_(static_cast<uint32_t>(args.w)),
        left_(args.ow) {
    for (int32_t v = 0; v < 2; ++v) {
      bias_[v] = vld1q_s32(reinterpret_cast<const int32_t*>(head) + place + 4 * v);
      multiplier_[v] = vld1q_f32(reinterpret_cast<const float*>(head) + 16 + place + 4 * v);
    }
    for (int32_t i = 0; i < kLines; ++i) {
      steps_[i] = args.steps[i];
      lines_[i] = reinterpret_cast<uintptr_t>(args.lines[i] + channel) -
                  static_cast<uintptr_t>(args.steps[i] * args.pad_left);
    }
    // Where there is no second line, it is computed all the same, and the first is stored over it.
    for (int32_t j = 0; j < Lines; ++j)
      y_[j] = (args.output[j] != nullptr ? args.output[j] : args.output[0]) + channel;
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

  // The next column; lines outside their picture are no pointers.
  __attribute__((always_inline)) inline void next(Column* column) {
    if (__builtin_expect(static_cast<uint32_t>(x_) < w_, 1)) {
      const void* from[kLines];
#pragma GCC unroll 4
      for (int32_t i = 0; i < kLines; ++i) from[i] = reinterpret_cast<const void*>(lines_[i]);
      *column = V::template load<Lines>(from);
    } else {
      const void* const from[4] = {padding_, padding_, padding_, padding_};
      *column = V::template load<Lines>(from);
    }
#pragma GCC unroll 4
    for (int32_t i = 0; i < kLines; ++i) lines_[i] += static_cast<uintptr_t>(steps_[i]);
    ++x_;
  }

  // One column of output; false: it was the last one.
  __attribute__((always_inline)) inline bool output(const Column& a, const Column& b, const Column& c) {
    int32x4_t acc[Lines][2];
#pragma GCC unroll 2
    for (int32_t j = 0; j < Lines; ++j)
#pragma GCC unroll 2
      for (int32_t v = 0; v < 2; ++v)
        __asm__ volatile("mov %0.16b, %1.16b" : "=w"(acc[j][v]) : "w"(bias_[v]));
    products_.template add<Lines, 0>(acc, a);
    products_.template add<Lines, 1>(acc, b);
    products_.template add<Lines, 2>(acc, c);
    store(acc);
    return --left_ > 0;
  }

  // codes_neon() of each line, a step of all after the other.
  __attribute__((always_inline)) inline void store(int32x4_t (*acc)[2]) {
#pragma GCC unroll 4
    for (int32_t i = 0; i < 2 * Lines; ++i) __asm__ volatile("scvtf %0.4s, %0.4s" : "+w"(acc[i / 2][i % 2]));
#pragma GCC unroll 4
    for (int32_t i = 0; i < 2 * Lines; ++i)
      __asm__ volatile("fmul %0.4s, %0.4s, %1.4s" : "+w"(acc[i / 2][i % 2]) : "w"(multiplier_[i % 2]));
#pragma GCC unroll 4
    for (int32_t i = 0; i < 2 * Lines; ++i) __asm__ volatile("fcvtns %0.4s, %0.4s" : "+w"(acc[i / 2][i % 2]));
#pragma GCC unroll 2
    for (int32_t j = 0; j < Lines; ++j) __asm__ volatile("sqxtn %0.4h, %0.4s" : "+w"(acc[j][0]));
#pragma GCC unroll 2
    for (int32_t j = 0; j < Lines; ++j)
      __asm__ volatile("sqxtn2 %0.8h, %1.4s" : "+w"(acc[j][0]) : "w"(acc[j][1]));
#pragma GCC unroll 2
    for (int32_t j = 0; j < Lines; ++j)
      __asm__ volatile("sqadd %0.8h, %0.8h, %1.8h" : "+w"(acc[j][0]) : "w"(output_.zero_point));
#pragma GCC unroll 2
    for (int32_t j = 0; j < Lines; ++j) __asm__ volatile("sqxtn %0.8b, %0.8h" : "+w"(acc[j][0]));
      // The second line's first: where there is none, the first is stored over it.
#pragma GCC unroll 2
    for (int32_t j = Lines - 1; j >= 0; --j) {
      vst1_s8(y_[j], vget_low_s8(clamp_neon(vreinterpretq_s8_s32(acc[j][0]), output_)));
      y_[j] += out_step_;
    }
  }

  const V products_;
  const OutputNeon output_;
  int32x4_t bias_[2];
  float32x4_t multiplier_[2];
  const int8_t* const padding_;
  const ptrdiff_t out_step_;
  uintptr_t lines_[kLines];
  ptrdiff_t steps_[kLines];
  int8_t* y_[Lines];
  int32_t x_;
  const uint32_t w_;
  int32_t left_;
};

template <typename V, int32_t Lines, int32_t Stride>
__attribute__((noinline)) void run_eight(const Dwconv3x3S8Args& args, int32_t channel, const int8_t* head,
                                         int32_t place) {
  EightInOrder<V, Lines, Stride>(args, channel, head, place).run();
}

// All blocks of 16 channels; one of fewer holds its first eight, then its last eight.
template <typename V>
inline void run_blocks_in_order(const Dwconv3x3S8Args& args) {
  if (args.ow < 1) return;
  const bool two = args.output[1] != nullptr;
  const auto run = two ? run_eight<V, 2, 1> : args.stride == 1 ? run_eight<V, 1, 1> : run_eight<V, 1, 2>;
  const auto* packed = static_cast<const int8_t*>(args.packed);
  for (int32_t first = 0; first < args.channels;) {
    const Dwconv3x3Block block = dwconv_3x3_s8_block(16, 16, args.channels, first);
    run(args, block.start, packed, 0);
    if (block.count > 8) run(args, block.start + block.count - 8, packed, 8);
    packed += 8 * block.width + V::kWeightBytes;
    first = block.start + block.count;
  }
}

}  // namespace
}  // namespace intaglio
