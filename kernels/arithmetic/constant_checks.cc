#include "kernels/arithmetic/constant_checks.h"

#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace intaglio {

#if defined(__SSE2__)

WeightSums sum_weights(const int8_t* w, int64_t n) {
  constexpr int64_t kVectorCodes = 16;
  const __m128i zero = _mm_setzero_si128(), top_bits = _mm_set1_epi8(-128);
  __m128i sum = zero,
          magnitude = zero;  // of codes + 128, and of magnitudes up to 128, as bytes without a sign
  int64_t i = 0;
  for (; i + kVectorCodes <= n; i += kVectorCodes) {
    const __m128i codes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(w + i));
    const __m128i negative = _mm_cmpgt_epi8(zero, codes);
    sum = _mm_add_epi64(sum, _mm_sad_epu8(_mm_xor_si128(codes, top_bits), zero));
    magnitude =
        _mm_add_epi64(magnitude, _mm_sad_epu8(_mm_sub_epi8(_mm_xor_si128(codes, negative), negative), zero));
  }
  int64_t sums[2], magnitudes[2];
  memcpy(sums, &sum, sizeof sums);
  memcpy(magnitudes, &magnitude, sizeof magnitudes);
  WeightSums s = {sums[0] + sums[1] - 128 * i, magnitudes[0] + magnitudes[1]};
  for (; i < n; ++i) {
    s.sum += w[i];
    s.magnitude += w[i] < 0 ? -w[i] : w[i];
  }
  return s;
}

#elif defined(__ARM_NEON)

namespace {

// Sixteen codes, two a lane, and sums of eight; what every machine with vectors has in one.
typedef int16_t Eight __attribute__((vector_size(16)));
typedef int32_t Four __attribute__((vector_size(16)));

inline Eight magnitude_of(Eight v) {
  const Eight sign = v >> 15;
  return (v ^ sign) - sign;
}

int32_t sum_of_lanes(Eight v) {
  Four pairs;
  memcpy(&pairs, &v, sizeof pairs);
  pairs = (pairs >> 16) + ((pairs << 16) >> 16);
  return pairs[0] + pairs[1] + pairs[2] + pairs[3];
}

}  // namespace

WeightSums sum_weights(const int8_t* w, int64_t n) {
  constexpr int64_t kVectorCodes = 16, kBlock = 64 * kVectorCodes;  // sums up to 64 * 2 * 128 in a lane
  WeightSums s = {0, 0};
  while (n >= kVectorCodes) {
    const int64_t block = n < kBlock ? n / kVectorCodes * kVectorCodes : kBlock;
    Eight sum = {}, magnitude = {};
    for (const int8_t* const end = w + block; w < end; w += kVectorCodes) {
      Eight codes;
      memcpy(&codes, w, sizeof codes);
      const Eight odd = codes >> 8, even = (codes << 8) >> 8;
      sum += even + odd;
      magnitude += magnitude_of(even) + magnitude_of(odd);
    }
    s.sum += sum_of_lanes(sum);
    s.magnitude += sum_of_lanes(magnitude);
    n -= block;
  }
  for (; n > 0; --n, ++w) {
    s.sum += *w;
    s.magnitude += *w < 0 ? -*w : *w;
  }
  return s;
}

#else

WeightSums sum_weights(const int8_t* w, int64_t n) {
  WeightSums s = {0, 0};
  for (int64_t i = 0; i < n; ++i) {
    s.sum += w[i];
    s.magnitude += w[i] < 0 ? -w[i] : w[i];
  }
  return s;
}

#endif

// In blocks that compilers make vectors of.
bool all_finite(const float* x, int64_t n) {
  constexpr int64_t kBlock = 32;
  constexpr uint32_t kExponent = 0x7f800000u, kLeast = 0x00800000u, kSign = kExponent + kLeast;
  uint32_t seen = 0, bits[kBlock];
  for (; n >= kBlock; n -= kBlock, x += kBlock) {
    memcpy(bits, x, sizeof bits);
    uint32_t here[kBlock];
    for (int64_t i = 0; i < kBlock; ++i) here[i] = (bits[i] & kExponent) + kLeast;
    for (int64_t i = 0; i < kBlock; ++i) seen |= here[i];
  }
  memset(bits, 0, sizeof bits);
  memcpy(bits, x, static_cast<size_t>(n) * sizeof *x);
  for (int64_t i = 0; i < n; ++i) seen |= (bits[i] & kExponent) + kLeast;
  return (seen & kSign) == 0;
}

}  // namespace intaglio
