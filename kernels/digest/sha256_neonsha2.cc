#include <arm_neon.h>

#include "kernels/digest/sha256.h"

namespace intaglio {

void sha256_neonsha2(uint32_t* state, const uint8_t* bytes, size_t count);

void sha256_neonsha2(uint32_t* state, const uint8_t* bytes, size_t count) {
  uint32x4_t abcd = vld1q_u32(state), efgh = vld1q_u32(state + 4);
  for (size_t block = 0; block < count; ++block, bytes += kSha256BlockBytes) {
    const uint32x4_t abcd_before = abcd, efgh_before = efgh;
    uint32x4_t words[4];
#pragma GCC unroll 16
    for (int i = 0; i < 16; ++i) {  // four rounds each
      uint32x4_t& w = words[i % 4];
      if (i < 4) {
        w = vreinterpretq_u32_u8(vrev32q_u8(vld1q_u8(bytes + 16 * i)));
      } else {
        const uint32x4_t w4 = words[(i + 1) % 4], w8 = words[(i + 2) % 4], w12 = words[(i + 3) % 4];
        w = vsha256su1q_u32(vsha256su0q_u32(w, w4), w8, w12);
      }
      const uint32x4_t sums = vaddq_u32(w, vld1q_u32(kSha256Round + 4 * i)), abcd_now = abcd;
      abcd = vsha256hq_u32(abcd, efgh, sums);
      efgh = vsha256h2q_u32(efgh, abcd_now, sums);
    }
    abcd = vaddq_u32(abcd, abcd_before);
    efgh = vaddq_u32(efgh, efgh_before);
  }
  vst1q_u32(state, abcd);
  vst1q_u32(state + 4, efgh);
}

}  // namespace intaglio
