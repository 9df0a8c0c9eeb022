// dwconv_3x3_s8 with vpdpbusd, over a class of vectors: dwconv_3x3_s8_<isa>.cc defines ITG_DOT, the
// instruction, ITG_REGISTER, the constraint of its operands, and ITG_MASKS where AVX-512's masks are there,
// and says which blocks it has. The compiler's own macros would tell of its flags, which may be wider than the
// file's instruction set. Codes are read as x + 128: their top bits flipped.
#pragma once

#include <immintrin.h>

#include "kernels/dwconv/dwconv_3x3_s8_lines.h"

namespace intaglio {
namespace {

#if !defined(ITG_MASKS)
struct Vector16 {
  using Type = __m128i;
  static constexpr int32_t kBytes = 16;
  using Part = ptrdiff_t;  // where the upper eight channels are: a block of eight to sixteen
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
  static Type narrow_u16(Type a, Type b) { return _mm_packus_epi16(a, b); }
  static Type add_16(Type a, Type b) { return _mm_adds_epi16(a, b); }
  static Type clamp(Type v, Type lo, Type hi) { return _mm_max_epi8(_mm_min_epi8(v, hi), lo); }
};
#endif

struct Vector32 {
  using Type = __m256i;
  static constexpr int32_t kBytes = 32;
  static Type load(const void* p) { return _mm256_loadu_si256(static_cast<const Type*>(p)); }
#if defined(ITG_MASKS)
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
  static constexpr int32_t kPositions = 1;
  static Type load_positions(const void* p, const void*, const Part& part) { return load_codes(p, part); }
  static void store_positions(void* p, void*, Type v, const Part& part) { store_codes(p, v, part); }
  static Type fourth_for_third(Type v) { return _mm256_mask_slli_epi16(v, 0xaaaau, v, 8); }
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
  static Type narrow_u16(Type a, Type b) { return _mm256_packus_epi16(a, b); }
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
    bool least_zero_point;  // an instruction less; where nothing is negative, as behind ReLU
  };
  using Sum = Codes;

  static Part part(int32_t count) { return V::part(count); }
  static Limits limits(const OutputS8& requant, int32_t lo, int32_t hi) {
    return {V::words(requant.zero_point), V::bytes(lo), V::bytes(hi), requant.zero_point == -128};
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
              : "+" ITG_REGISTER(acc[v])
              : ITG_REGISTER(x.q[v]), "m"(*reinterpret_cast<const Codes*>(w + V::kBytes * v)));
  }
  __attribute__((always_inline)) static inline Codes narrow(Sum* acc, const int8_t* multiplier,
                                                            const Limits& limits, bool clamps) {
#pragma GCC unroll 4
    for (int32_t v = 0; v < 4; ++v) acc[v] = V::scale(acc[v], V::load_real(multiplier + V::kBytes * v));
    return pack(V::narrow_32(acc[0], acc[1]), V::narrow_32(acc[2], acc[3]), limits, clamps);
  }
  __attribute__((always_inline)) static inline Codes pack(Codes low, Codes high, const Limits& limits,
                                                          bool clamps) {
    const Codes codes = limits.least_zero_point ? V::flip(V::narrow_u16(low, high))
                                                : V::narrow_16(V::add_16(low, limits.zero_point),
                                                               V::add_16(high, limits.zero_point));
    return clamps ? V::clamp(codes, limits.lowest, limits.highest) : codes;
  }
  static void store(void* p, Codes codes, const Part& part) { V::store_codes(p, codes, part); }
};

#if defined(ITG_MASKS)
// One block of channels along two lines of output, two columns of them at a time: with 32 registers for four
// columns of input, what a load of weights brings is multiplied twice. Where there is no second line, or
// column, it is computed all the same, and the first is stored over it.
template <typename V>
__attribute__((noinline)) void run_squares(const Dwconv3x3S8Args& args, const Dwconv3x3Block& block,
                                           const int8_t* head) {
  using Vector = typename V::Type;
  const typename V::Part part = V::part(block.count);
  Dwconv3x3Walk once;
  start_walk(args, block.start, &once);
  uintptr_t lines[4] = {once.lines[0], once.lines[1], once.lines[2], once.lines[3]};
  const bool clamps = once.clamps;
  const typename Vnni<V>::Limits limits = Vnni<V>::limits(args.requant, once.lo, once.hi);
  int8_t *y0 = args.output[0] + block.start,
         *y1 = (args.output[1] != nullptr ? args.output[1] : args.output[0]) + block.start;

  typename Vnni<V>::Column columns[4] = {};
  auto x = static_cast<uint32_t>(-args.pad_left);
  const auto next = [&]() __attribute__((always_inline)) {
    __asm__("" : "+m"(once));
    const void* from[4];
#pragma GCC unroll 4
    for (int32_t i = 0; i < 4; ++i) {
      from[i] = reinterpret_cast<const void*>(lines[i]);
      lines[i] += static_cast<uintptr_t>(once.steps[i]);
    }
    if (x >= once.w) from[0] = from[1] = from[2] = from[3] = once.padding;
    ++x;
    return Vnni<V>::column(from, part);
  };
  for (int32_t left = args.ow + 2; left > 0; left -= 2) {
    columns[0] = columns[2];
    columns[1] = columns[3];
    columns[2] = next();
    columns[3] = next();
    if (left > args.ow) continue;
    __asm__("" : "+r"(head));  // gcc would keep the address of every operand
    Vector sums[2][2][2];      // [line][column], of two vectors each
    Vector acc[2][2][2];
#pragma GCC unroll 4
    for (int32_t v = 0; v < 4; ++v) {
      const auto multiplier = V::load_real(head + V::kBytes * (4 + v));
#pragma GCC unroll 2
      for (int32_t line = 0; line < 2; ++line) {
        Vector a = V::load(head + V::kBytes * v), b = a;
#pragma GCC unroll 3
        for (int32_t kx = 0; kx < 3; ++kx) {
          const Vector w = V::load(head + V::kBytes * (8 + 4 * (3 * line + kx) + v));
          __asm__(ITG_DOT " %2, %1, %0" : "+v"(a) : "v"(columns[kx].q[v]), "v"(w));
          __asm__(ITG_DOT " %2, %1, %0" : "+v"(b) : "v"(columns[kx + 1].q[v]), "v"(w));
        }
        acc[line][0][v % 2] = V::scale(a, multiplier);
        acc[line][1][v % 2] = V::scale(b, multiplier);
        if (v % 2 == 0) continue;
#pragma GCC unroll 2
        for (int32_t i = 0; i < 2; ++i) sums[line][i][v / 2] = V::narrow_32(acc[line][i][0], acc[line][i][1]);
      }
    }
    const ptrdiff_t second = left > 1 ? once.step : 0;
#pragma GCC unroll 2
    for (int32_t line = 1; line >= 0; --line) {
      int8_t* const y = line == 0 ? y0 : y1;
#pragma GCC unroll 2
      for (int32_t i = 1; i >= 0; --i)
        V::store_codes(y + (i == 0 ? 0 : second),
                       Vnni<V>::pack(sums[line][i][0], sums[line][i][1], limits, clamps), part);
    }
    y0 += 2 * once.step;
    y1 += 2 * once.step;
  }
}

// One block of channels along one line of output at stride 2. Two columns at a time are multiplied as they
// come, for the output that they end and for the one that the second begins, so that 32 registers hold all
// weights: nothing is loaded but three lines, biases and multipliers. The third line's codes of both columns
// share a pair, which each column's weights take their byte of. With two positions a vector holds half as
// many channels of two outputs, half a line from one another.
template <typename V>
__attribute__((noinline)) void run_line_2(const Dwconv3x3S8Args& args, const Dwconv3x3Block& block,
                                          const int8_t* head) {
  using Vector = typename V::Type;
  const typename V::Part part = V::part(block.count);
  struct : Dwconv3x3Walk {
    ptrdiff_t far[3];
    uint32_t far_x;
  } once;
  start_walk(args, block.start, &once);
  const int32_t outputs = V::kPositions == 2 ? (args.ow + 1) / 2 : args.ow, far_output = args.ow - outputs;
  once.far_x = static_cast<uint32_t>(2 * far_output);
  for (int32_t i = 0; i < 3; ++i) once.far[i] = 2 * far_output * args.steps[i];
  uintptr_t lines[3] = {once.lines[0], once.lines[1], once.lines[2]};
  const bool clamps = once.clamps;
  const typename Vnni<V>::Limits limits = Vnni<V>::limits(args.requant, once.lo, once.hi);
  Vector weights[3][4];
#pragma GCC unroll 3
  for (int32_t kx = 0; kx < 3; ++kx)
#pragma GCC unroll 4
    for (int32_t v = 0; v < 4; ++v) {
      const Vector tap = V::load(head + (8 + 4 * kx + v) * V::kBytes);
      weights[kx][v] = kx == 1 ? V::fourth_for_third(tap) : tap;
    }

  auto x = static_cast<uint32_t>(-args.pad_left);
  const auto load = [&](Vector * r) __attribute__((always_inline)) {
    __asm__("" : "+m"(once));
    const void *from[3], *far[3] = {};
#pragma GCC unroll 3
    for (int32_t i = 0; i < 3; ++i) {
      from[i] = reinterpret_cast<const void*>(lines[i]);
      if (V::kPositions == 2)
        far[i] = reinterpret_cast<const void*>(lines[i] + static_cast<uintptr_t>(once.far[i]));
      lines[i] += static_cast<uintptr_t>(once.steps[i]);
    }
    if (x >= once.w) from[0] = from[1] = from[2] = once.padding;
    if (V::kPositions == 2 && x + once.far_x >= once.w) far[0] = far[1] = far[2] = once.padding;
    ++x;
#pragma GCC unroll 3
    for (int32_t i = 0; i < 3; ++i) r[i] = V::flip(V::load_positions(from[i], far[i], part));
  };
  // gcc would copy every sum around the intrinsic.
  const auto dot = [](Vector * acc, const Vector* q, const Vector* by) __attribute__((always_inline)) {
#pragma GCC unroll 4
    for (int32_t v = 0; v < 4; ++v) __asm__(ITG_DOT " %2, %1, %0" : "+v"(acc[v]) : "v"(q[v]), "v"(by[v]));
  };
  const auto quads = [](Vector * q, const Vector* r, Vector low, Vector high) __attribute__((always_inline)) {
    const Vector a = V::low_8(r[0], r[1]), b = V::high_8(r[0], r[1]);
    q[0] = V::low_16(a, low);
    q[1] = V::high_16(a, low);
    q[2] = V::low_16(b, high);
    q[3] = V::high_16(b, high);
  };

  int8_t* y = args.output[0] + block.start;
  Vector next[4], q[4];
  const auto begin = [&]() __attribute__((always_inline)) {
    __asm__("" : "+r"(head));
#pragma GCC unroll 4
    for (int32_t v = 0; v < 4; ++v) next[v] = V::load(head + V::kBytes * v);
    dot(next, q, weights[0]);
  };
  Vector odd[3], even[3];
  load(even);
  quads(q, even, V::low_8(even[2], even[2]), V::high_8(even[2], even[2]));
  begin();
  for (int32_t left = outputs; left > 0; --left) {
    load(odd);
    load(even);
    const Vector low = V::low_8(even[2], odd[2]), high = V::high_8(even[2], odd[2]);
    quads(q, odd, low, high);
    Vector acc[4] = {next[0], next[1], next[2], next[3]};
    dot(acc, q, weights[1]);
    quads(q, even, low, high);
    dot(acc, q, weights[2]);
    begin();
    V::store_positions(y, y + far_output * once.step,
                       Vnni<V>::narrow(acc, head + 4 * V::kBytes, limits, clamps), part);
    y += once.step;
  }
}

#endif

}  // namespace
}  // namespace intaglio
