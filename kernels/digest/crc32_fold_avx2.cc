#include <immintrin.h>

#include "kernels/digest/crc32_fold.h"

namespace intaglio {
namespace {

// x^n modulo the polynomial 0x104c11db7, its bits in reverse order and one place up, as products of reversed
// operands need it: to take a half of a vector over `distance` bits, n is distance + 32 for the low one,
// distance - 32 for the high one.
constexpr uint64_t power_of_x(int n) {
  uint32_t power = 0x80000000u;  // 1, reversed
  for (; n > 0; --n) power = (power >> 1) ^ ((power & 1) != 0 ? 0xedb88320u : 0u);
  return uint64_t{power} << 1;
}

inline __m128i load(const uint8_t* data) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(data)); }

// `v` moved on by the distance of `factors`, and `next`, which is there.
inline __m128i fold(__m128i v, __m128i factors, __m128i next) {
  return _mm_xor_si128(
      _mm_xor_si128(_mm_clmulepi64_si128(v, factors, 0x00), _mm_clmulepi64_si128(v, factors, 0x11)), next);
}

inline __m128i factors_of(uint64_t low, uint64_t high) {
  return _mm_set_epi64x(static_cast<int64_t>(high), static_cast<int64_t>(low));
}

}  // namespace

void crc32_fold_avx2(uint32_t state, const uint8_t* data, size_t size, uint8_t folded[16]) {
  constexpr uint64_t kFarLow = power_of_x(512 + 32), kFarHigh = power_of_x(512 - 32);
  constexpr uint64_t kNearLow = power_of_x(128 + 32), kNearHigh = power_of_x(128 - 32);
  const __m128i far = factors_of(kFarLow, kFarHigh), near = factors_of(kNearLow, kNearHigh);
  __m128i a = _mm_xor_si128(load(data), _mm_cvtsi32_si128(static_cast<int>(state)));
  __m128i b = load(data + 16), c = load(data + 32), d = load(data + 48);
  for (data += kCrc32FoldBytes, size -= kCrc32FoldBytes; size > 0;
       data += kCrc32FoldBytes, size -= kCrc32FoldBytes) {
    a = fold(a, far, load(data));
    b = fold(b, far, load(data + 16));
    c = fold(c, far, load(data + 32));
    d = fold(d, far, load(data + 48));
  }
  a = fold(fold(fold(a, near, b), near, c), near, d);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(folded), a);
}

}  // namespace intaglio
