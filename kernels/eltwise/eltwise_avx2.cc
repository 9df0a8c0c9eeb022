// Element by element: int8, int16, FP32, and functions of one variable.
#include <immintrin.h>

#include "kernels/arithmetic/output_f32_avx2.h"
#include "kernels/arithmetic/requant_avx2.h"
#include "kernels/eltwise/codes_s16_loops.h"
#include "kernels/eltwise/eltwise_f32_vectors.h"
#include "kernels/eltwise/eltwise_s8_rows.h"
#include "kernels/eltwise/rare_f32_rows.h"
#include "kernels/eltwise/unary_f32_rows.h"

namespace intaglio {

// Those of rows serve one code, too: not a copy in each.
__attribute__((noinline)) void add_rows_s8_avx2(const int8_t* a, const int8_t* b, int8_t* y, int32_t rows,
                                                int32_t n, const AddS8& params);
void add_code_s8_avx2(const int8_t* a, int8_t b, int8_t* y, int32_t n, const AddS8& params);
__attribute__((noinline)) void mul_rows_s8_avx2(const int8_t* a, const int8_t* b, int8_t* y, int32_t rows,
                                                int32_t n, const MulS8& params);
void mul_code_s8_avx2(const int8_t* a, int8_t b, int8_t* y, int32_t n, const MulS8& params);
void lookup_s8_avx2(const int8_t* x, const int8_t* table, int8_t* y, int32_t n);

namespace {

// Short rows are rare: not a copy of this in each loop.
__attribute__((noinline)) __m128i load_few(const int8_t* p, int32_t count) {
  return avx2_load_some(p, count);
}
__attribute__((noinline)) void store_few(int8_t* p, __m128i codes, int32_t count) {
  avx2_store_some(p, codes, count);
}
inline __m128i load_codes(const int8_t* p, int32_t count) {
  return count == 16 ? _mm_loadu_si128(reinterpret_cast<const __m128i*>(p)) : load_few(p, count);
}
inline void store_codes(int8_t* p, __m128i codes, int32_t count) {
  if (count == 16) return _mm_storeu_si128(reinterpret_cast<__m128i*>(p), codes);
  store_few(p, codes, count);
}

// y = function(a, b) on sixteen codes at a time. What is left of a long row overlaps the vector before it, and is read
// before that is written: y may be a.
template <typename Function>
inline void map_rows(const int8_t* a, const int8_t* b, int8_t* y, int32_t rows, int32_t n,
                     Function function) {
  const int32_t count = n < 16 ? n : 16, last = n - count;
  const bool overlaps = (last & 15) != 0;
  for (int32_t r = 0; r < rows; ++r, a += n, y += n) {
    const __m128i left = overlaps ? load_codes(a + last, 16) : __m128i();
    for (int32_t i = 0; i < n; i += 16) {
      const bool is_left = i > last;
      const int32_t at = is_left ? last : i;
      const __m128i x = is_left ? left : load_codes(a + at, count);
      store_codes(y + at, function(x, load_codes(b + at, count)), count);
    }
  }
}

// The same code b for every element, by the function for rows.
template <typename Rows, typename Params>
inline void map_code(Rows* map, const int8_t* a, int8_t b, int8_t* y, int32_t n, const Params& params) {
  int8_t row[16];
  memset(row, b, sizeof row);
  const int32_t left = n & 15, whole = n - left;
  map(a, row, y, whole >> 4, 16, params);
  map(a + whole, row, y + whole, 1, left, params);
}

}  // namespace

void add_rows_s8_avx2(const int8_t* a, const int8_t* b, int8_t* y, int32_t rows, int32_t n,
                      const AddS8& params) {
  const AddS8 p = params;
  map_rows(a, b, y, rows, n, [p](__m128i x, __m128i z) { return avx2_add(_mm256_cvtepi8_epi16(x), z, p); });
}
void add_code_s8_avx2(const int8_t* a, int8_t b, int8_t* y, int32_t n, const AddS8& params) {
  map_code(add_rows_s8_avx2, a, b, y, n, params);
}
void mul_rows_s8_avx2(const int8_t* a, const int8_t* b, int8_t* y, int32_t rows, int32_t n,
                      const MulS8& params) {
  const MulS8 p = params;
  map_rows(a, b, y, rows, n, [p](__m128i x, __m128i z) {
    return avx2_mul(x, z, p.a_zero_point, p.b_zero_point, p.multiplier, p.output);
  });
}
void mul_code_s8_avx2(const int8_t* a, int8_t b, int8_t* y, int32_t n, const MulS8& params) {
  map_code(mul_rows_s8_avx2, a, b, y, n, params);
}

// vpshufb looks sixteen entries up, by the low four bits of a byte, and gives 0 where its top bit is set.
// With u the place in the table, piece t of it is asked for u - 16 t: eight pieces answer, those before the
// last one that should. Pieces that hold what has to change since the piece before, and take back what left
// the eight, add up (by exclusive or) to the entry.
void lookup_s8_avx2(const int8_t* x, const int8_t* table, int8_t* y, int32_t n) {
  constexpr int32_t kVectors = 4, kStep = 32 * kVectors;
  int32_t i = 0;
  if (n >= kStep) {
    const auto piece = [table](int32_t t) {
      return t < 0 ? _mm_setzero_si128() : _mm_loadu_si128(reinterpret_cast<const __m128i*>(table) + t);
    };
    __m256i pieces[16];
    for (int32_t t = 0; t < 16; ++t) {
      const __m128i change = _mm_xor_si128(piece(t), piece(t - 1));
      pieces[t] =
          _mm256_broadcastsi128_si256(_mm_xor_si128(change, _mm_xor_si128(piece(t - 8), piece(t - 9))));
    }
    const __m256i sixteen = _mm256_set1_epi8(16), top = _mm256_set1_epi8(-128);
    for (; i + kStep <= n; i += kStep) {
      const auto* const from = reinterpret_cast<const __m256i*>(x + i);
      auto* const to = reinterpret_cast<__m256i*>(y + i);
      __m256i u[kVectors], q[kVectors];
#pragma GCC unroll 4
      for (int32_t v = 0; v < kVectors; ++v) {
        u[v] = _mm256_xor_si256(_mm256_loadu_si256(from + v), top);
        q[v] = _mm256_setzero_si256();
      }
      for (int32_t t = 0; t < 16; ++t) {
#pragma GCC unroll 4
        for (int32_t v = 0; v < kVectors; ++v) {
          q[v] = _mm256_xor_si256(q[v], _mm256_shuffle_epi8(pieces[t], u[v]));
          // From u - 128 on, signed, what has no answer any more must not come round to one.
          u[v] = t < 8 ? _mm256_sub_epi8(u[v], sixteen) : _mm256_subs_epi8(u[v], sixteen);
        }
      }
#pragma GCC unroll 4
      for (int32_t v = 0; v < kVectors; ++v) _mm256_storeu_si256(to + v, q[v]);
    }
  }
  map_lookup_s8(x + i, table, y + i, n - i);
}

// Compilers vectorise all but the table: two entries are one word, which a gather reads.

namespace {

// The codes of eight elements, as int32: (first * (128 - part) + next * part + 64) >> 7.
inline __m256i interpolated(const int16_t* x, const int16_t* table) {
  const __m256i code = _mm256_cvtepi16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(x)));
  const __m256i at = _mm256_add_epi32(_mm256_srai_epi32(code, 7), _mm256_set1_epi32(256));
  const __m256i entries = _mm256_i32gather_epi32(reinterpret_cast<const int*>(table), at, 2);
  const __m256i part = _mm256_and_si256(code, _mm256_set1_epi32(127));
  // part * 2^16 + 128 - part
  const __m256i shares =
      _mm256_add_epi32(_mm256_sub_epi32(_mm256_slli_epi32(part, 16), part), _mm256_set1_epi32(128));
  const __m256i sum = _mm256_add_epi32(_mm256_madd_epi16(entries, shares), _mm256_set1_epi32(64));
  return _mm256_srai_epi32(sum, 7);
}

void lookup_by_gather(const int16_t* x, const int16_t* table, int16_t* y, int32_t n) {
  int32_t i = 0;
  for (; i + 8 <= n; i += 8) {
    const __m256i codes = interpolated(x + i, table);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(y + i),
                     _mm_packs_epi32(_mm256_castsi256_si128(codes), _mm256_extracti128_si256(codes, 1)));
  }
  lookup_codes_s16(x + i, table, y + i, n - i);
}

}  // namespace

ITG_CODES_S16_FUNCTIONS(avx2, lookup_by_gather)

namespace {

struct Eight {
  using Register = __m256;
  using Mask = __m256i;
  using Finish = FinishF32;
  static constexpr int32_t kLanes = 8;

  static Mask mask(int32_t count) { return first_lanes(count); }
  static Register load(const float* from) { return _mm256_loadu_ps(from); }
  static Register load(const float* from, Mask mask) { return _mm256_maskload_ps(from, mask); }
  static void store(float* to, Register v) { _mm256_storeu_ps(to, v); }
  static void store(float* to, Mask mask, Register v) { _mm256_maskstore_ps(to, mask, v); }
};

}  // namespace

RowsF32 add_rows_f32_avx2, mul_rows_f32_avx2, prelu_rows_f32_avx2;

void add_rows_f32_avx2(const float* a, const float* b, float* y, int32_t rows, int32_t n,
                       const ClampF32& clamp) {
  combine_rows<Eight>(a, b, y, rows, n, clamp, [](__m256 p, __m256 q) { return _mm256_add_ps(p, q); });
}

void mul_rows_f32_avx2(const float* a, const float* b, float* y, int32_t rows, int32_t n,
                       const ClampF32& clamp) {
  combine_rows<Eight>(a, b, y, rows, n, clamp, [](__m256 p, __m256 q) { return _mm256_mul_ps(p, q); });
}

void prelu_rows_f32_avx2(const float* a, const float* b, float* y, int32_t rows, int32_t n,
                         const ClampF32& clamp) {
  combine_rows<Eight>(a, b, y, rows, n, clamp, [](__m256 p, __m256 q) {
    return _mm256_blendv_ps(_mm256_mul_ps(p, q), p, _mm256_cmp_ps(p, _mm256_setzero_ps(), _CMP_GT_OQ));
  });
}

void unary_f32_avx2(const UnaryF32Args& args);

void unary_f32_avx2(const UnaryF32Args& args) { unary_rows_f32(args); }

void rare_f32_avx2(const RareF32Args& args);

void rare_f32_avx2(const RareF32Args& args) { rare_rows_f32(args); }

}  // namespace intaglio
