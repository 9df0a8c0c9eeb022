#include <immintrin.h>

#include "kernels/arithmetic/requant_avx2.h"
#include "kernels/eltwise/eltwise_s8_rows.h"

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
inline __m128i load(const int8_t* p, int32_t count) {
  return count == 16 ? _mm_loadu_si128(reinterpret_cast<const __m128i*>(p)) : load_few(p, count);
}
inline void store(int8_t* p, __m128i codes, int32_t count) {
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
    const __m128i left = overlaps ? load(a + last, 16) : __m128i();
    for (int32_t i = 0; i < n; i += 16) {
      const bool is_left = i > last;
      const int32_t at = is_left ? last : i;
      const __m128i x = is_left ? left : load(a + at, count);
      store(y + at, function(x, load(b + at, count)), count);
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

}  // namespace intaglio
