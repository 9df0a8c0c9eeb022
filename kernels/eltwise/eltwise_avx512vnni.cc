// Element by element: int16, FP32, and functions of one variable.
#include <immintrin.h>

#include "kernels/arithmetic/output_f32_avx512.h"
#include "kernels/eltwise/codes_s16_loops.h"
#include "kernels/eltwise/eltwise_f32_vectors.h"
#include "kernels/eltwise/unary_f32_rows.h"

namespace intaglio {
namespace {

// Compilers vectorise all but the table. Its entries stand in sixteen registers: a permutation of two finds one of 64, and the
// code's upper bits choose among eight of these. That takes half the time of a gather.

constexpr int32_t kCodeLanes = 32,
                  kPairs = 8;  // codes of a register; pairs of registers of the first 512 entries

inline __m512i chosen(__mmask32 second, __m512i a, __m512i b) {
  return _mm512_mask_blend_epi16(second, a, b);
}

// Entries `at`, whose lower nine bits count.
inline __m512i entries(const __m512i* table, __m512i at) {
  __m512i found[kPairs];
#pragma GCC unroll 8
  for (int32_t i = 0; i < kPairs; ++i)
    found[i] = _mm512_permutex2var_epi16(table[2 * i], at, table[2 * i + 1]);
  const __mmask32 bit6 = _mm512_test_epi16_mask(at, _mm512_set1_epi16(64)),
                  bit7 = _mm512_test_epi16_mask(at, _mm512_set1_epi16(128)),
                  bit8 = _mm512_test_epi16_mask(at, _mm512_set1_epi16(256));
  const __m512i low = chosen(bit7, chosen(bit6, found[0], found[1]), chosen(bit6, found[2], found[3]));
  const __m512i high = chosen(bit7, chosen(bit6, found[4], found[5]), chosen(bit6, found[6], found[7]));
  return chosen(bit8, low, high);
}

// (first * (128 - part) + next * part + 64) >> 7
inline __m512i between(__m512i first, __m512i next, __m512i part) {
  const __m512i rest = _mm512_sub_epi16(_mm512_set1_epi16(128), part), half = _mm512_set1_epi32(64);
  const __m512i low =
                    _mm512_madd_epi16(_mm512_unpacklo_epi16(first, next), _mm512_unpacklo_epi16(rest, part)),
                high =
                    _mm512_madd_epi16(_mm512_unpackhi_epi16(first, next), _mm512_unpackhi_epi16(rest, part));
  return _mm512_packs_epi32(_mm512_srai_epi32(_mm512_add_epi32(low, half), 7),
                            _mm512_srai_epi32(_mm512_add_epi32(high, half), 7));
}

void lookup_by_permutation(const int16_t* x, const int16_t* table, int16_t* y, int32_t n) {
  __m512i parts[2 * kPairs];
#pragma GCC unroll 16
  for (int32_t i = 0; i < 2 * kPairs; ++i) parts[i] = _mm512_loadu_si512(table + kCodeLanes * i);
  const __m512i last = _mm512_set1_epi16(table[512]), middle = _mm512_set1_epi16(256),
                one = _mm512_set1_epi16(1);
  for (int32_t i = 0; i < n; i += kCodeLanes) {
    const __mmask32 there = n - i < kCodeLanes ? (__mmask32{1} << (n - i)) - 1 : ~__mmask32{0};
    const __m512i code = _mm512_maskz_loadu_epi16(there, x + i);
    const __m512i at = _mm512_add_epi16(_mm512_srai_epi16(code, 7), middle),
                  behind = _mm512_add_epi16(at, one);
    const __mmask32 is_last = _mm512_cmpeq_epi16_mask(behind, _mm512_set1_epi16(512));
    const __m512i next = chosen(is_last, entries(parts, behind), last);
    const __m512i part = _mm512_and_si512(code, _mm512_set1_epi16(127));
    _mm512_mask_storeu_epi16(y + i, there, between(entries(parts, at), next, part));
  }
}

}  // namespace

ITG_CODES_S16_FUNCTIONS(avx512vnni, lookup_by_permutation)

namespace {

struct Sixteen {
  using Register = __m512;
  using Mask = __mmask16;
  using Finish = FinishF32;
  static constexpr int32_t kLanes = 16;

  static Mask mask(int32_t count) { return first_lanes(count); }
  static Register load(const float* from) { return _mm512_loadu_ps(from); }
  static Register load(const float* from, Mask mask) { return _mm512_maskz_loadu_ps(mask, from); }
  static void store(float* to, Register v) { _mm512_storeu_ps(to, v); }
  static void store(float* to, Mask mask, Register v) { _mm512_mask_storeu_ps(to, mask, v); }
};

}  // namespace

RowsF32 add_rows_f32_avx512vnni, mul_rows_f32_avx512vnni;

void add_rows_f32_avx512vnni(const float* a, const float* b, float* y, int32_t rows, int32_t n,
                             const ClampF32& clamp) {
  combine_rows<Sixteen>(a, b, y, rows, n, clamp, [](__m512 p, __m512 q) { return _mm512_add_ps(p, q); });
}

void mul_rows_f32_avx512vnni(const float* a, const float* b, float* y, int32_t rows, int32_t n,
                             const ClampF32& clamp) {
  combine_rows<Sixteen>(a, b, y, rows, n, clamp, [](__m512 p, __m512 q) { return _mm512_mul_ps(p, q); });
}

void unary_f32_avx512vnni(const UnaryF32Args& args);

void unary_f32_avx512vnni(const UnaryF32Args& args) { unary_rows_f32(args); }

}  // namespace intaglio
