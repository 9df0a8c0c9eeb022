#include <immintrin.h>

#include "kernels/digest/sha256.h"

namespace intaglio {

void sha256_shani(uint32_t* state, const uint8_t* bytes, size_t count);

namespace {

__m128i load(const void* at) { return _mm_loadu_si128(static_cast<const __m128i*>(at)); }

}  // namespace

// The instructions take the state as (a, b, e, f) and (c, d, g, h), highest word first, and two rounds a
// time.
void sha256_shani(uint32_t* state, const uint8_t* bytes, size_t count) {
  const __m128i big_endian = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
  const __m128i badc = _mm_shuffle_epi32(load(state), 0xb1), hgfe = _mm_shuffle_epi32(load(state + 4), 0x1b);
  __m128i abef = _mm_alignr_epi8(badc, hgfe, 8), cdgh = _mm_blend_epi16(hgfe, badc, 0xf0);
  for (size_t block = 0; block < count; ++block, bytes += kSha256BlockBytes) {
    const __m128i abef_before = abef, cdgh_before = cdgh;
    __m128i words[4];
#pragma GCC unroll 16
    for (int i = 0; i < 16; ++i) {  // four rounds each
      __m128i& w = words[i % 4];
      if (i < 4) {
        w = _mm_shuffle_epi8(load(bytes + 16 * i), big_endian);
      } else {
        const __m128i w4 = words[(i + 1) % 4], w8 = words[(i + 2) % 4], w12 = words[(i + 3) % 4];
        w = _mm_add_epi32(_mm_sha256msg1_epu32(w, w4), _mm_alignr_epi8(w12, w8, 4));
        w = _mm_sha256msg2_epu32(w, w12);
      }
      const __m128i sums = _mm_add_epi32(w, load(kSha256Round + 4 * i));
      cdgh = _mm_sha256rnds2_epu32(cdgh, abef, sums);
      abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(sums, 0x0e));
    }
    abef = _mm_add_epi32(abef, abef_before);
    cdgh = _mm_add_epi32(cdgh, cdgh_before);
  }
  const __m128i feba = _mm_shuffle_epi32(abef, 0x1b), dchg = _mm_shuffle_epi32(cdgh, 0xb1);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(state), _mm_blend_epi16(feba, dchg, 0xf0));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(state + 4), _mm_alignr_epi8(dchg, feba, 8));
}

}  // namespace intaglio
