// dwconv_3x3_s8 with vpdpbusd, over a class of vectors: dwconv_3x3_s8_<isa>.cc defines ITG_DOT, the
// instruction, and says which blocks it has. Codes are read as x + 128: their top bits flipped.
#pragma once

#include <immintrin.h>

#include "kernels/dwconv_3x3_s8.h"

namespace intaglio {
namespace {

struct Vector16 {
  using Type = __m128i;
  static constexpr int32_t kBytes = 16;
  static constexpr int32_t kChannels = kBytes;
  static Type load(const void* p) { return _mm_loadu_si128(static_cast<const Type*>(p)); }
  static Type load_codes(const void* p) { return load(p); }
  static void store_codes(void* p, Type v) { _mm_storeu_si128(static_cast<Type*>(p), v); }
  static Type bytes(int32_t v) { return _mm_set1_epi8(static_cast<int8_t>(v)); }
  static Type words(int32_t v) { return _mm_set1_epi16(static_cast<int16_t>(v)); }
  static Type flip(Type v) { return _mm_xor_si128(v, bytes(-128)); }
  static Type low_8(Type a, Type b) { return _mm_unpacklo_epi8(a, b); }
  static Type high_8(Type a, Type b) { return _mm_unpackhi_epi8(a, b); }
  static Type low_16(Type a, Type b) { return _mm_unpacklo_epi16(a, b); }
  static Type high_16(Type a, Type b) { return _mm_unpackhi_epi16(a, b); }
  using Real = __m128;
  static Real load_real(const void* p) { return _mm_loadu_ps(static_cast<const float*>(p)); }
  static Type scale(Type v, Real m) { return _mm_cvtps_epi32(_mm_mul_ps(_mm_cvtepi32_ps(v), m)); }
  static Type narrow_32(Type a, Type b) { return _mm_packs_epi32(a, b); }
  static Type narrow_16(Type a, Type b) { return _mm_packs_epi16(a, b); }
  static Type add_16(Type a, Type b) { return _mm_adds_epi16(a, b); }
  static Type clamp(Type v, Type lo, Type hi) { return _mm_max_epi8(_mm_min_epi8(v, hi), lo); }
};

// Eight channels in the lower half.
struct Vector8 : Vector16 {
  static constexpr int32_t kChannels = 8;
  static Type load_codes(const void* p) { return _mm_loadl_epi64(static_cast<const Type*>(p)); }
  static void store_codes(void* p, Type v) { _mm_storel_epi64(static_cast<Type*>(p), v); }
};

struct Vector32 {
  using Type = __m256i;
  static constexpr int32_t kBytes = 32;
  static constexpr int32_t kChannels = kBytes;
  static Type load(const void* p) { return _mm256_loadu_si256(static_cast<const Type*>(p)); }
  static Type load_codes(const void* p) { return load(p); }
  static void store_codes(void* p, Type v) { _mm256_storeu_si256(static_cast<Type*>(p), v); }
  static Type bytes(int32_t v) { return _mm256_set1_epi8(static_cast<int8_t>(v)); }
  static Type words(int32_t v) { return _mm256_set1_epi16(static_cast<int16_t>(v)); }
  static Type flip(Type v) { return _mm256_xor_si256(v, bytes(-128)); }
  static Type low_8(Type a, Type b) { return _mm256_unpacklo_epi8(a, b); }
  static Type high_8(Type a, Type b) { return _mm256_unpackhi_epi8(a, b); }
  static Type low_16(Type a, Type b) { return _mm256_unpacklo_epi16(a, b); }
  static Type high_16(Type a, Type b) { return _mm256_unpackhi_epi16(a, b); }
  using Real = __m256;
  static Real load_real(const void* p) { return _mm256_loadu_ps(static_cast<const float*>(p)); }
  static Type scale(Type v, Real m) { return _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_cvtepi32_ps(v), m)); }
  static Type narrow_32(Type a, Type b) { return _mm256_packs_epi32(a, b); }
  static Type narrow_16(Type a, Type b) { return _mm256_packs_epi16(a, b); }
  static Type add_16(Type a, Type b) { return _mm256_adds_epi16(a, b); }
  static Type clamp(Type v, Type lo, Type hi) { return _mm256_max_epi8(_mm256_min_epi8(v, hi), lo); }
};

// gcc would copy every sum around the intrinsic.
template <typename V>
__attribute__((always_inline)) inline void dot(typename V::Type& acc, typename V::Type x, const int8_t* w) {
  __asm__(ITG_DOT " %2, %1, %0" : "+v"(acc) : "v"(x), "m"(*reinterpret_cast<const typename V::Type*>(w)));
}

// Four bytes a channel, of four lines.
template <typename V>
struct Column {
  typename V::Type q[4];
};

template <typename V>
__attribute__((always_inline)) inline Column<V> interleave(typename V::Type r0, typename V::Type r1,
                                                           typename V::Type r2, typename V::Type r3) {
  const auto a = V::low_8(r0, r1), b = V::high_8(r0, r1), c = V::low_8(r2, r3), d = V::high_8(r2, r3);
  return {{V::flip(V::low_16(a, c)), V::flip(V::high_16(a, c)), V::flip(V::low_16(b, d)),
           V::flip(V::high_16(b, d))}};
}

// One block of channels along a line. Everything is held by value: a store of codes may alias whatever is
// not.
template <typename V, int32_t Lines>
struct Line {
  using Type = typename V::Type;
  static constexpr int32_t kWidth = V::kBytes;

  // Of the next column, which may lie outside its line: no pointers.
  uintptr_t line0, line1, line2, line3;
  ptrdiff_t step0, step1, step2, step3;
  const int8_t *padding, *head;
  int8_t *y0, *y1;
  ptrdiff_t step;
  uint32_t w;
  bool clamps;
  Type zero_point, lowest, highest;

  Line(const Dwconv3x3S8Args& args, int32_t first, const int8_t* block)
      : step0(args.steps[0]),
        step1(args.steps[1]),
        step2(args.steps[2]),
        step3(args.steps[3]),
        padding(args.padding + first),
        head(block),
        y0(args.output[0] + first),
        y1(Lines == 2 ? args.output[1] + first : nullptr),
        step(args.channels),
        w(static_cast<uint32_t>(args.w)) {
    const auto lo = static_cast<int32_t>(args.requant.lo_minus_zero_point) + args.requant.zero_point;
    const auto hi = static_cast<int32_t>(args.requant.hi_minus_zero_point) + args.requant.zero_point;
    line0 = start(args.lines[0] + first, step0 * args.pad_left);
    line1 = start(args.lines[1] + first, step1 * args.pad_left);
    line2 = start(args.lines[2] + first, step2 * args.pad_left);
    line3 = start(args.lines[3] + first, step3 * args.pad_left);
    zero_point = V::words(args.requant.zero_point);
    lowest = V::bytes(lo);
    highest = V::bytes(hi);
    clamps = lo > -128 || hi < 127;
  }

  static uintptr_t start(const int8_t* line, ptrdiff_t before) {
    return reinterpret_cast<uintptr_t>(line) - static_cast<uintptr_t>(before);
  }
  static Type load(uintptr_t p) { return V::load_codes(reinterpret_cast<const void*>(p)); }

  // Column x, which is the one after the last that was asked for.
  __attribute__((always_inline)) inline Column<V> column(int32_t x) {
    const uintptr_t p0 = line0, p1 = line1, p2 = line2, p3 = line3;
    line0 += static_cast<uintptr_t>(step0);
    line1 += static_cast<uintptr_t>(step1);
    line2 += static_cast<uintptr_t>(step2);
    line3 += static_cast<uintptr_t>(step3);
    if (static_cast<uint32_t>(x) >= w) {
      const Type p = V::load_codes(padding);
      return interleave<V>(p, p, p, p);
    }
    return interleave<V>(load(p0), load(p1), load(p2), load(p3));
  }

  __attribute__((always_inline)) inline void store(int8_t* y, const Type* q) const {
    const Type low = V::add_16(V::narrow_32(q[0], q[1]), zero_point);
    const Type high = V::add_16(V::narrow_32(q[2], q[3]), zero_point);
    Type codes = V::narrow_16(low, high);
    if (clamps) codes = V::clamp(codes, lowest, highest);
    V::store_codes(y, codes);
  }

  __attribute__((always_inline)) inline void output(const Column<V>& a, const Column<V>& b,
                                                    const Column<V>& c) {
    Type acc[2][4];
    // gcc would keep the address of every operand in a register, and most of them on the stack.
    __asm__("" : "+r"(head));
    const int8_t* const weights = head + 8 * kWidth;
#pragma GCC unroll 4
    for (int32_t v = 0; v < 4; ++v) {
      acc[0][v] = V::load(head + kWidth * v);
      acc[1][v] = acc[0][v];
    }
#pragma GCC unroll 3
    for (int32_t kx = 0; kx < 3; ++kx) {
      const Column<V>& from = kx == 0 ? a : kx == 1 ? b : c;
#pragma GCC unroll 4
      for (int32_t v = 0; v < 4; ++v) {
        dot<V>(acc[0][v], from.q[v], weights + (kx * 4 + v) * kWidth);
        if (Lines == 2) dot<V>(acc[1][v], from.q[v], weights + (12 + kx * 4 + v) * kWidth);
      }
    }
    const int8_t* const multiplier = head + 4 * kWidth;
#pragma GCC unroll 4
    for (int32_t v = 0; v < 4; ++v) {
      const typename V::Real m = V::load_real(multiplier + kWidth * v);
      acc[0][v] = V::scale(acc[0][v], m);
      if (Lines == 2) acc[1][v] = V::scale(acc[1][v], m);
    }
    store(y0, acc[0]);
    y0 += step;
    if (Lines == 2) {
      store(y1, acc[1]);
      y1 += step;
    }
  }
};

template <typename V, int32_t Lines>
void stride_1(const Dwconv3x3S8Args& args, int32_t first, const int8_t* block) {
  Line<V, Lines> line(args, first, block);
  const int32_t ow = args.ow;
  int32_t in = -args.pad_left, x = 0;
  Column<V> a = line.column(in);
  Column<V> b = line.column(in + 1), c;
  in += 2;
  for (; x + 3 <= ow; x += 3, in += 3) {
    c = line.column(in);
    line.output(a, b, c);
    a = line.column(in + 1);
    line.output(b, c, a);
    b = line.column(in + 2);
    line.output(c, a, b);
  }
  for (; x < ow; ++x, ++in) {
    c = line.column(in);
    line.output(a, b, c);
    a = b;
    b = c;
  }
}

template <typename V>
void stride_2(const Dwconv3x3S8Args& args, int32_t first, const int8_t* block) {
  Line<V, 1> line(args, first, block);
  const int32_t ow = args.ow;
  int32_t in = -args.pad_left;
  Column<V> a = line.column(in);
  for (int32_t x = 0; x < ow; ++x, in += 2) {
    const Column<V> b = line.column(in + 1);
    const Column<V> c = line.column(in + 2);
    line.output(a, b, c);
    a = c;
  }
}

template <typename V>
inline void run_block(const Dwconv3x3S8Args& args, int32_t first, const int8_t* block) {
  const int32_t start = dwconv_3x3_s8_start(args.channels, first, V::kChannels);
  if (args.stride == 2) return stride_2<V>(args, start, block);
  if (args.output[1] != nullptr) return stride_1<V, 2>(args, start, block);
  stride_1<V, 1>(args, start, block);
}

}  // namespace
}  // namespace intaglio
