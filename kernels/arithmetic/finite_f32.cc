#include "kernels/arithmetic/finite_f32.h"

#include <cstring>

namespace intaglio {

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
