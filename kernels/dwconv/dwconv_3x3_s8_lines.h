// dwconv_3x3_s8 along the lines, over a class that knows how columns are held and multiplied (`Vnni` of
// dwconv_3x3_s8_vnni.h is one). Small: an instance for each width of block and count of output lines, one
// copy of each step in it; what one column passes to the next stays in registers.
#pragma once

#include "kernels/dwconv/dwconv_3x3_s8.h"

namespace intaglio {
namespace {

// The constants of a walk along the lines, from the channel `start` on. It stays in memory: without that gcc
// moves it to and from vector registers.
struct Dwconv3x3Walk {
  uintptr_t lines[4];  // of the first column, which may lie outside its line: no pointers
  ptrdiff_t steps[4];
  const int8_t* padding;
  ptrdiff_t step;  // of the output
  uint32_t w;
  int32_t lo, hi;
  bool clamps;  // beyond what int8 does
};

#if defined(__x86_64__)
#define ITG_START_WALK __attribute__((noinline)) static  // shorter
#else
#define ITG_START_WALK static inline  // fewer instructions
#endif

ITG_START_WALK void start_walk(const Dwconv3x3S8Args& args, int32_t start, Dwconv3x3Walk* walk) {
  for (int32_t i = 0; i < 4; ++i) {
    walk->steps[i] = args.steps[i];
    walk->lines[i] = reinterpret_cast<uintptr_t>(args.lines[i] + start) -
                     static_cast<uintptr_t>(args.steps[i] * args.pad_left);
  }
  walk->padding = args.padding + start;
  walk->step = args.channels;
  walk->w = static_cast<uint32_t>(args.w);
  walk->lo = static_cast<int32_t>(args.requant.lo_minus_zero_point) + args.requant.zero_point;
  walk->hi = static_cast<int32_t>(args.requant.hi_minus_zero_point) + args.requant.zero_point;
  walk->clamps = walk->lo > -128 || walk->hi < 127;
}

// One block of channels along one or two lines of output. Everything is held by value: a store of codes may
// alias whatever is not.
template <typename V, int32_t Lines>
__attribute__((noinline)) void run_lines(const Dwconv3x3S8Args& args, const Dwconv3x3Block& block,
                                         const int8_t* head) {
  using Column = typename V::Column;
  const typename V::Part part = V::part(block.count);
  const int32_t first = block.start;
  Dwconv3x3Walk once;
  start_walk(args, first, &once);
  uintptr_t lines[4] = {once.lines[0], once.lines[1], once.lines[2], once.lines[3]};
  const typename V::Limits limits = V::limits(args.requant, once.lo, once.hi);
  const bool clamps = once.clamps;
  // Where there is no second line, it is computed all the same, and the first is stored over it.
  int8_t *y0 = args.output[0] + first,
         *y1 = Lines == 1 ? nullptr : (args.output[1] != nullptr ? args.output[1] : args.output[0]) + first;
  const int32_t stride = Lines == 2 ? 1 : args.stride;

  Column a{}, b{}, c{};
  int32_t left = args.ow, wait = 3;  // columns until the next output
  for (int32_t x = -args.pad_left; left > 0; ++x) {
    __asm__("" : "+m"(once));
    a = b;
    b = c;
    const void* from[4];
#pragma GCC unroll 4
    for (int32_t i = 0; i < 4; ++i) {
      from[i] = reinterpret_cast<const void*>(lines[i]);
      lines[i] += static_cast<uintptr_t>(once.steps[i]);
    }
    if (static_cast<uint32_t>(x) >= once.w) from[0] = from[1] = from[2] = from[3] = once.padding;
    c = V::column(from, part);
    if (--wait > 0) continue;
    wait = stride;
    --left;

    typename V::Sum acc[2][V::kSums];
    // gcc would keep the address of every operand in a register, and most of them on the stack.
    __asm__("" : "+r"(head));
    const int8_t* const weights = head + 8 * V::kWidth;
#pragma GCC unroll 4
    for (int32_t v = 0; v < V::kSums; ++v) acc[0][v] = acc[1][v] = V::bias(head, v);
#pragma GCC unroll 3
    for (int32_t kx = 0; kx < 3; ++kx) {
      const Column& column = kx == 0 ? a : kx == 1 ? b : c;
      V::template dot<0>(acc[0], column, weights, kx);
      if (Lines == 2) V::template dot<1>(acc[1], column, weights, kx);
    }
    const int8_t* const multiplier = head + 4 * V::kWidth;
    if (Lines == 2) {
      V::store(y1, V::narrow(acc[1], multiplier, limits, clamps), part);
      y1 += once.step;
    }
    V::store(y0, V::narrow(acc[0], multiplier, limits, clamps), part);
    y0 += once.step;
  }
}

// One line of output. A class of columns may have a loop of its own.
template <typename V>
struct OneLine {
  static void run(const Dwconv3x3S8Args& args, const Dwconv3x3Block& block, const int8_t* head) {
    run_lines<V, 1>(args, block, head);
  }
};

// Two lines, likewise.
template <typename V>
struct TwoLines {
  static void run(const Dwconv3x3S8Args& args, const Dwconv3x3Block& block, const int8_t* head) {
    run_lines<V, 2>(args, block, head);
  }
};

template <typename Wide, typename Narrow>
void run_blocks(const Dwconv3x3S8Args& args) {
  const auto* packed = static_cast<const int8_t*>(args.packed);
  for (int32_t first = 0; first < args.channels;) {
    const Dwconv3x3Block block = dwconv_3x3_s8_block(Wide::kWidth, Narrow::kWidth, args.channels, first);
    const bool two = args.output[1] != nullptr;
    if (block.width == Wide::kWidth) {
      two ? TwoLines<Wide>::run(args, block, packed) : OneLine<Wide>::run(args, block, packed);
    } else {
      two ? TwoLines<Narrow>::run(args, block, packed) : OneLine<Narrow>::run(args, block, packed);
    }
    packed += 8 * block.width + (block.width == Wide::kWidth ? Wide::kWeightBytes : Narrow::kWeightBytes);
    first = block.start + block.count;
  }
}

}  // namespace
}  // namespace intaglio
