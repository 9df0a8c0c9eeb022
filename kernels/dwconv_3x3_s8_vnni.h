// dwconv_3x3_s8 with vpdpbusd, over a class of vectors: dwconv_3x3_s8_<isa>.cc defines ITG_DOT, the
// instruction, and says which blocks it has. Codes are read as x + 128: their top bits flipped.
#pragma once

#include <immintrin.h>

#include "kernels/dwconv_3x3_s8_lines.h"

namespace intaglio {
namespace {

#if !defined(__AVX512VL__)
struct Vector16 {
  using Type = __m128i;
  static constexpr int32_t kBytes = 16;
  using Part = ptrdiff_t;  // where the upper eight channels stand: a block of eight to sixteen
  static Part part(int32_t count) { return count - 8; }
  static Type load(const void* p) { return _mm_loadu_si128(static_cast<const Type*>(p)); }
  static Type load_codes(const void* p, Part upper) {
    const Type low = _mm_loadl_epi64(static_cast<const Type*>(p));
    return _mm_castps_si128(_mm_loadh_pi(
        _mm_castsi128_ps(low), reinterpret_cast<const __m64*>(static_cast<const int8_t*>(p) + upper)));
  }
  static void store_codes(void* p, Type v, Part upper) {
    _mm_storel_epi64(static_cast<Type*>(p), v);
    _mm_storeh_pi(reinterpret_cast<__m64*>(static_cast<int8_t*>(p) + upper), _mm_castsi128_ps(v));
  }
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
#endif

struct Vector32 {
  using Type = __m256i;
  static constexpr int32_t kBytes = 32;
  static Type load(const void* p) { return _mm256_loadu_si256(static_cast<const Type*>(p)); }
#if defined(__AVX512VL__)
  struct Part {
    __mmask32 mask;  // of a block of fewer channels
    bool whole;
  };
  static Part part(int32_t count) { return {~uint32_t{0} >> (32 - count), count == 32}; }
  // Masked loads would slow all by a tenth.
  static Type load_codes(const void* p, const Part& part) {
    return part.whole ? load(p) : _mm256_maskz_loadu_epi8(part.mask, p);
  }
  static void store_codes(void* p, Type v, const Part& part) {
    if (!part.whole) return _mm256_mask_storeu_epi8(p, part.mask, v);
    _mm256_storeu_si256(static_cast<Type*>(p), v);
  }
#else
  struct Part {};  // always whole
  static Part part(int32_t) { return {}; }
  static Type load_codes(const void* p, Part) { return load(p); }
  static void store_codes(void* p, Type v, Part) { _mm256_storeu_si256(static_cast<Type*>(p), v); }
#endif
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

// Four lines' bytes of a channel side by side: a lane sums all four products.
template <typename V>
struct Vnni {
  using Codes = typename V::Type;
  using Part = typename V::Part;
  static constexpr int32_t kWidth = V::kBytes, kSums = 4;
  static constexpr int32_t kTapBytes = 4 * V::kBytes;  // of the weights of a line of output and a kx
  static constexpr int32_t kWeightBytes = 2 * 3 * kTapBytes;

  struct Column {
    Codes q[4];
  };
  struct Limits {
    Codes zero_point, lowest, highest;
  };
  using Sum = Codes;

  static Part part(int32_t count) { return V::part(count); }
  static Limits limits(const OutputS8& requant, int32_t lo, int32_t hi) {
    return {V::words(requant.zero_point), V::bytes(lo), V::bytes(hi)};
  }
  __attribute__((always_inline)) static inline Column column(const void* const* lines, const Part& part) {
    const Codes r0 = V::load_codes(lines[0], part), r1 = V::load_codes(lines[1], part);
    const Codes r2 = V::load_codes(lines[2], part), r3 = V::load_codes(lines[3], part);
    const Codes a = V::low_8(r0, r1), b = V::high_8(r0, r1), c = V::low_8(r2, r3), d = V::high_8(r2, r3);
    return {{V::flip(V::low_16(a, c)), V::flip(V::high_16(a, c)), V::flip(V::low_16(b, d)),
             V::flip(V::high_16(b, d))}};
  }
  static Sum bias(const int8_t* head, int32_t v) { return V::load(head + V::kBytes * v); }
  // gcc would copy every sum around the intrinsic.
  template <int32_t Line>
  __attribute__((always_inline)) static inline void dot(Sum* acc, const Column& x, const int8_t* w,
                                                        int32_t kx) {
    w += (3 * Line + kx) * kTapBytes;
#pragma GCC unroll 4
    for (int32_t v = 0; v < 4; ++v)
      __asm__(ITG_DOT " %2, %1, %0"
              : "+v"(acc[v])
              : "v"(x.q[v]), "m"(*reinterpret_cast<const Codes*>(w + V::kBytes * v)));
  }
  __attribute__((always_inline)) static inline Codes narrow(Sum* acc, const int8_t* multiplier,
                                                            const Limits& limits, bool clamps) {
#pragma GCC unroll 4
    for (int32_t v = 0; v < 4; ++v) acc[v] = V::scale(acc[v], V::load_real(multiplier + V::kBytes * v));
    const Codes low = V::add_16(V::narrow_32(acc[0], acc[1]), limits.zero_point);
    const Codes high = V::add_16(V::narrow_32(acc[2], acc[3]), limits.zero_point);
    const Codes codes = V::narrow_16(low, high);
    return clamps ? V::clamp(codes, limits.lowest, limits.highest) : codes;
  }
  static void store(void* p, Codes codes, const Part& part) { V::store_codes(p, codes, part); }
};

}  // namespace
}  // namespace intaglio
