// Four channels at a time: codes are widened once for all of them. Weights become int16 by standing in its
// upper half, which costs one shuffle within lanes (vpmovsxbw is slower): 256 times the products are summed.
#include <immintrin.h>

#include "kernels/arithmetic/requant_avx2.h"
#include "kernels/gemm/gemm_s8_f32.h"

namespace intaglio {
namespace {

constexpr int32_t kStep = 32;  // codes of a vector
// A step adds at most 2 * 2 * 128 * 32768 = 2^24 to a lane: so many fit, one more for the tail.
constexpr int32_t kBlock = 126 * kStep;

inline __m256i load_32(const int8_t* p) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)); }

// Codes in the upper halves of int16, the lower eight of each lane, and the upper eight.
inline __m256i raised_low(__m256i v) { return _mm256_unpacklo_epi8(_mm256_setzero_si256(), v); }
inline __m256i raised_high(__m256i v) { return _mm256_unpackhi_epi8(_mm256_setzero_si256(), v); }

// The last k % 32 codes. Of more than a vector: one that ends where they do, with zeros for those before.
struct Tail {
  __m256i x;
  int32_t count, from;
};

Tail tail_of(const int8_t* x, int32_t k) {
  alignas(32) int8_t some[kStep] = {};
  const int32_t count = k % kStep;
  memcpy(k < kStep ? some : some + kStep - count, x + k - count, static_cast<size_t>(count));
  return {load_32(some), count, k < kStep ? 0 : k - kStep};
}

inline __m256i load_tail(const int8_t* row, int32_t k, const Tail& tail) {
  if (k >= kStep) return load_32(row + tail.from);
  alignas(32) int8_t some[kStep] = {};
  memcpy(some, row, static_cast<size_t>(tail.count));
  return load_32(some);
}

// Sums of the weights' rows [w + c * k), c < Channels, in eight lanes each. What is `ahead` is read next.
template <int32_t Channels>
inline void sum_rows(const int8_t* x, const int8_t* w, int32_t k, ptrdiff_t ahead, const Tail& tail,
                     __m256i* sums) {
  __m256i raised[Channels];
  const auto add = [&](int32_t c, __m256i low, __m256i high, __m256i weights) {
    raised[c] = _mm256_add_epi32(raised[c], _mm256_madd_epi16(low, raised_low(weights)));
    raised[c] = _mm256_add_epi32(raised[c], _mm256_madd_epi16(high, raised_high(weights)));
  };
  const auto widen = [](__m256i v) { return _mm256_srai_epi16(v, 8); };
#pragma GCC unroll 4
  for (int32_t c = 0; c < Channels; ++c) sums[c] = _mm256_setzero_si256();
  const int32_t whole = k - k % kStep;
  int32_t i = 0;
  do {
#pragma GCC unroll 4
    for (int32_t c = 0; c < Channels; ++c) raised[c] = _mm256_setzero_si256();
    const int32_t end = whole - i < kBlock ? whole : i + kBlock;
    for (; i < end; i += kStep) {
      const __m256i codes = load_32(x + i), low = widen(raised_low(codes)), high = widen(raised_high(codes));
      for (int32_t line = 0; line < kStep * Channels; line += 64)
        _mm_prefetch(w + ahead + ptrdiff_t{i} * Channels + line, _MM_HINT_T0);
#pragma GCC unroll 4
      for (int32_t c = 0; c < Channels; ++c) {
        __m256i weights = load_32(w + ptrdiff_t{c} * k + i);
        asm("" : "+x"(weights));  // gcc would load them for each half
        add(c, low, high, weights);
      }
    }
    if (i == whole && tail.count > 0) {
      const __m256i low = widen(raised_low(tail.x)), high = widen(raised_high(tail.x));
#pragma GCC unroll 4
      for (int32_t c = 0; c < Channels; ++c) add(c, low, high, load_tail(w + ptrdiff_t{c} * k, k, tail));
    }
#pragma GCC unroll 4
    for (int32_t c = 0; c < Channels; ++c)
      sums[c] = _mm256_add_epi32(sums[c], _mm256_srai_epi32(raised[c], 8));
  } while (i < whole);
}

// Each of four vectors' lanes added up.
inline __m128i add_lanes(const __m256i* sums) {
  const __m256i four =
      _mm256_hadd_epi32(_mm256_hadd_epi32(sums[0], sums[1]), _mm256_hadd_epi32(sums[2], sums[3]));
  return _mm_add_epi32(_mm256_castsi256_si128(four), _mm256_extracti128_si256(four, 1));
}

}  // namespace

GemvS8F32 gemv_s8_f32_avx2;

void gemv_s8_f32_avx2(const int8_t* x, const int8_t* w, const int32_t* bias, const float* multiplier,
                      float* y, int32_t n, int32_t k) {
  const Tail tail = tail_of(x, k);
  __m256i sums[4];
  int32_t c = 0;
  for (; c + 4 <= n; c += 4, w += 4 * ptrdiff_t{k}) {
    sum_rows<4>(x, w, k, c + 8 <= n ? 4 * ptrdiff_t{k} : 0, tail, sums);
    const __m128i biases = _mm_loadu_si128(reinterpret_cast<const __m128i*>(bias + c));
    const __m128i acc = _mm_add_epi32(add_lanes(sums), biases);
    _mm_storeu_ps(y + c, _mm_mul_ps(_mm_cvtepi32_ps(acc), _mm_loadu_ps(multiplier + c)));
  }
  sums[1] = sums[2] = sums[3] = _mm256_setzero_si256();
  for (; c < n; ++c, w += k) {
    sum_rows<1>(x, w, k, 0, tail, sums);
    const __m128i acc = _mm_add_epi32(add_lanes(sums), _mm_cvtsi32_si128(bias[c]));
    _mm_store_ss(y + c, _mm_mul_ss(_mm_cvtepi32_ps(acc), _mm_load_ss(multiplier + c)));
  }
}

}  // namespace intaglio
