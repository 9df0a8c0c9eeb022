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
  static Type load(const void* p) { return _mm_loadu_si128(static_cast<const Type*>(p)); }
  static void store(void* p, Type v) { _mm_storeu_si128(static_cast<Type*>(p), v); }
  static Type bytes(int32_t v) { return _mm_set1_epi8(static_cast<int8_t>(v)); }
  static Type words(int32_t v) { return _mm_set1_epi16(static_cast<int16_t>(v)); }
  static Type flip(Type v) { return _mm_xor_si128(v, bytes(-128)); }
  static Type low_8(Type a, Type b) { return _mm_unpacklo_epi8(a, b); }
  static Type high_8(Type a, Type b) { return _mm_unpackhi_epi8(a, b); }
  static Type low_16(Type a, Type b) { return _mm_unpacklo_epi16(a, b); }
  static Type high_16(Type a, Type b) { return _mm_unpackhi_epi16(a, b); }
  static Type scale(Type v, const void* m) {
    return _mm_cvtps_epi32(_mm_mul_ps(_mm_cvtepi32_ps(v), _mm_loadu_ps(static_cast<const float*>(m))));
  }
  static Type narrow_32(Type a, Type b) { return _mm_packs_epi32(a, b); }
  static Type narrow_16(Type a, Type b) { return _mm_packs_epi16(a, b); }
  static Type add_16(Type a, Type b) { return _mm_adds_epi16(a, b); }
  static Type clamp(Type v, Type lo, Type hi) { return _mm_max_epi8(_mm_min_epi8(v, hi), lo); }
};

struct Vector32 {
  using Type = __m256i;
  static constexpr int32_t kBytes = 32;
  static Type load(const void* p) { return _mm256_loadu_si256(static_cast<const Type*>(p)); }
  static void store(void* p, Type v) { _mm256_storeu_si256(static_cast<Type*>(p), v); }
  static Type bytes(int32_t v) { return _mm256_set1_epi8(static_cast<int8_t>(v)); }
  static Type words(int32_t v) { return _mm256_set1_epi16(static_cast<int16_t>(v)); }
  static Type flip(Type v) { return _mm256_xor_si256(v, bytes(-128)); }
  static Type low_8(Type a, Type b) { return _mm256_unpacklo_epi8(a, b); }
  static Type high_8(Type a, Type b) { return _mm256_unpackhi_epi8(a, b); }
  static Type low_16(Type a, Type b) { return _mm256_unpacklo_epi16(a, b); }
  static Type high_16(Type a, Type b) { return _mm256_unpackhi_epi16(a, b); }
  static Type scale(Type v, const void* m) {
    return _mm256_cvtps_epi32(
        _mm256_mul_ps(_mm256_cvtepi32_ps(v), _mm256_loadu_ps(static_cast<const float*>(m))));
  }
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

// One block of channels along a line.
template <typename V>
class Line {
 public:
  using Type = typename V::Type;
  static constexpr int32_t kWidth = V::kBytes;

  // Four bytes a channel, of four lines.
  struct Column {
    Type q[4];
  };

  Line(const Dwconv3x3S8Args& args, int32_t first, const int8_t* block)
      : args_(args), first_(first), head_(block), weights_(block + 8 * kWidth) {
    const auto lo = static_cast<int32_t>(args.requant.lo_minus_zero_point) + args.requant.zero_point;
    const auto hi = static_cast<int32_t>(args.requant.hi_minus_zero_point) + args.requant.zero_point;
    zero_point_ = V::words(args.requant.zero_point);
    lowest_ = V::bytes(lo);
    highest_ = V::bytes(hi);
    clamps_ = lo > -128 || hi < 127;
  }

  void run() const {
    if (args_.stride == 2) return stride_2();
    if (args_.output[1] != nullptr) return stride_1<2>();
    stride_1<1>();
  }

 private:
  __attribute__((always_inline)) inline Column column(int32_t x) const {
    if (static_cast<uint32_t>(x) >= static_cast<uint32_t>(args_.w)) {
      const Type p = V::flip(V::load(args_.padding + first_));
      const Type pp = V::low_8(p, p), qq = V::high_8(p, p);
      return {{V::low_16(pp, pp), V::high_16(pp, pp), V::low_16(qq, qq), V::high_16(qq, qq)}};
    }
    Type row[4];
#pragma GCC unroll 4
    for (int32_t i = 0; i < 4; ++i) row[i] = V::load(args_.lines[i] + x * args_.steps[i] + first_);
    const Type a = V::low_8(row[0], row[1]), b = V::high_8(row[0], row[1]);
    const Type c = V::low_8(row[2], row[3]), d = V::high_8(row[2], row[3]);
    return {{V::flip(V::low_16(a, c)), V::flip(V::high_16(a, c)), V::flip(V::low_16(b, d)),
             V::flip(V::high_16(b, d))}};
  }

  template <int32_t Lines>
  __attribute__((always_inline)) inline void output(int32_t x, const Column& a, const Column& b,
                                                    const Column& c) const {
    Type acc[Lines][4];
    const Column* const columns[3] = {&a, &b, &c};
#pragma GCC unroll 4
    for (int32_t v = 0; v < 4; ++v) {
#pragma GCC unroll 2
      for (int32_t j = 0; j < Lines; ++j) acc[j][v] = V::load(head_ + kWidth * v);
    }
#pragma GCC unroll 3
    for (int32_t kx = 0; kx < 3; ++kx)
#pragma GCC unroll 4
      for (int32_t v = 0; v < 4; ++v)
#pragma GCC unroll 2
        for (int32_t j = 0; j < Lines; ++j)
          dot<V>(acc[j][v], columns[kx]->q[v], weights_ + ((3 * j + kx) * 4 + v) * kWidth);
    const int8_t* const multiplier = head_ + 4 * kWidth;
#pragma GCC unroll 2
    for (int32_t j = 0; j < Lines; ++j) {
#pragma GCC unroll 4
      for (int32_t v = 0; v < 4; ++v) acc[j][v] = V::scale(acc[j][v], multiplier + kWidth * v);
      const Type low = V::add_16(V::narrow_32(acc[j][0], acc[j][1]), zero_point_);
      const Type high = V::add_16(V::narrow_32(acc[j][2], acc[j][3]), zero_point_);
      Type codes = V::narrow_16(low, high);
      if (clamps_) codes = V::clamp(codes, lowest_, highest_);
      V::store(args_.output[j] + static_cast<ptrdiff_t>(x) * args_.channels + first_, codes);
    }
  }

  template <int32_t Lines>
  void stride_1() const {
    int32_t in = -args_.pad_left, x = 0;
    Column a = column(in), b = column(in + 1), c;
    in += 2;
    for (; x + 3 <= args_.ow; x += 3, in += 3) {
      c = column(in);
      output<Lines>(x, a, b, c);
      a = column(in + 1);
      output<Lines>(x + 1, b, c, a);
      b = column(in + 2);
      output<Lines>(x + 2, c, a, b);
    }
    for (; x < args_.ow; ++x, ++in) {
      c = column(in);
      output<Lines>(x, a, b, c);
      a = b;
      b = c;
    }
  }

  void stride_2() const {
    int32_t in = -args_.pad_left;
    Column a = column(in);
    for (int32_t x = 0; x < args_.ow; ++x, in += 2) {
      const Column b = column(in + 1), c = column(in + 2);
      output<1>(x, a, b, c);
      a = c;
    }
  }

  const Dwconv3x3S8Args& args_;
  const int32_t first_;
  const int8_t* const head_;
  const int8_t* const weights_;
  Type zero_point_, lowest_, highest_;
  bool clamps_;
};

template <typename V>
inline void run_block(const Dwconv3x3S8Args& args, int32_t first, const int8_t* block) {
  Line<V>(args, dwconv_3x3_s8_start(args.channels, first, V::kBytes), block).run();
}

}  // namespace
}  // namespace intaglio
