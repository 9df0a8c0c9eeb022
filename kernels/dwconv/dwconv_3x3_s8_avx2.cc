// Codes as int16, two lines' side by side: vpmaddwd sums two products, exact for all codes.
#include <immintrin.h>

#include "kernels/dwconv/dwconv_3x3_s8_lines.h"

namespace intaglio {
namespace {

struct Pairs16 {
  using Codes = __m128i;
  using Part = ptrdiff_t;  // where the upper eight channels are: a block of eight to sixteen
  using Sum = __m256i;
  static constexpr int32_t kWidth = 16, kSums = 2;
  static constexpr int32_t kTapBytes = 2 * 2 * 32;  // of the weights of a line of output and a kx
  static constexpr int32_t kWeightBytes = 2 * 3 * kTapBytes;

  struct Column {
    __m256i q[2][2];  // [pair of lines][channels 0-3 and 8-11, then 4-7 and 12-15]
  };
  struct Limits {
    __m256i zero_point;
    Codes lowest, highest;
  };

  static Part part(int32_t count) { return count - 8; }
  static Limits limits(const OutputS8& requant, int32_t lo, int32_t hi) {
    return {_mm256_set1_epi16(static_cast<int16_t>(requant.zero_point)),
            _mm_set1_epi8(static_cast<int8_t>(lo)), _mm_set1_epi8(static_cast<int8_t>(hi))};
  }
  static __m256i load(const void* p, Part upper) {
    const __m128i low = _mm_loadl_epi64(static_cast<const __m128i*>(p));
    const auto* const rest = reinterpret_cast<const __m64*>(static_cast<const int8_t*>(p) + upper);
    return _mm256_cvtepi8_epi16(_mm_castps_si128(_mm_loadh_pi(_mm_castsi128_ps(low), rest)));
  }
  __attribute__((always_inline)) static inline Column column(const void* const* lines, Part part) {
    Column c;
#pragma GCC unroll 2
    for (int32_t i = 0; i < 2; ++i) {
      const __m256i upper = load(lines[2 * i], part), lower = load(lines[2 * i + 1], part);
      c.q[i][0] = _mm256_unpacklo_epi16(upper, lower);
      c.q[i][1] = _mm256_unpackhi_epi16(upper, lower);
    }
    return c;
  }
  static Sum bias(const int8_t* head, int32_t v) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(head) + v);
  }
  template <int32_t Line>
  __attribute__((always_inline)) static inline void dot(Sum* acc, const Column& x, const int8_t* w,
                                                        int32_t kx) {
    w += (3 * Line + kx) * kTapBytes;
#pragma GCC unroll 4
    for (int32_t i = 0; i < 4; ++i) {
      // gcc would add the products of several columns to each other first, which takes more registers than
      // there are.
      __m256i products;
      __asm__(
          "vpmaddwd %[w], %[x], %[products]\n"
          "vpaddd %[products], %[acc], %[acc]"
          : [acc] "+x"(acc[i % 2]), [products] "=&x"(products)
          : [x] "x"(x.q[i / 2][i % 2]), [w] "m"(reinterpret_cast<const __m256i_u*>(w)[i]));
    }
  }
  __attribute__((always_inline)) static inline Codes narrow(Sum* acc, const int8_t* multiplier,
                                                            const Limits& limits, bool clamps) {
#pragma GCC unroll 2
    for (int32_t v = 0; v < 2; ++v) {
      const __m256 m = _mm256_loadu_ps(reinterpret_cast<const float*>(multiplier) + 8 * v);
      acc[v] = _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_cvtepi32_ps(acc[v]), m));
    }
    const __m256i words = _mm256_adds_epi16(_mm256_packs_epi32(acc[0], acc[1]), limits.zero_point);
    const Codes codes = _mm_packs_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
    return clamps ? _mm_max_epi8(_mm_min_epi8(codes, limits.highest), limits.lowest) : codes;
  }
  static void store(void* p, Codes codes, Part upper) {
    _mm_storel_epi64(static_cast<Codes*>(p), codes);
    _mm_storeh_pi(reinterpret_cast<__m64*>(static_cast<int8_t*>(p) + upper), _mm_castsi128_ps(codes));
  }
};

}  // namespace

void dwconv_3x3_s8_avx2(const Dwconv3x3S8Args& args);

void dwconv_3x3_s8_avx2(const Dwconv3x3S8Args& args) { run_blocks<Pairs16, Pairs16>(args); }

}  // namespace intaglio
