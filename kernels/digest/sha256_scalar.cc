#include "kernels/compiled_isa.h"
#include "kernels/digest/sha256.h"

namespace intaglio {

#define ITG_SHA256(isa) void sha256_##isa(uint32_t* state, const uint8_t* bytes, size_t count);
#include "kernels/digest/sha256_kernels.inc"
#undef ITG_SHA256

namespace {

#define ITG_SHA256(isa) ITG_KERNEL(Sha256Kernel, sha256, isa, ITG_COMPILED(isa, k.blocks = sha256_##isa;))
constexpr Sha256Kernel kKernels[] = {
#include "kernels/digest/sha256_kernels.inc"
};
#undef ITG_SHA256

}  // namespace

ITG_KERNEL_LIST(Sha256Kernel, sha256, kKernels)

const Sha256Kernel& sha256_best(IsaMask isa) { return kKernels[first_allowed(kKernels, isa & kCompiledIsa)]; }

void sha256_scalar(uint32_t* state, const uint8_t* bytes, size_t count);

namespace {

uint32_t rotate_right(uint32_t x, int bits) { return (x >> bits) | (x << (32 - bits)); }

inline void sha256_round(uint32_t a, uint32_t b, uint32_t c, uint32_t& d, uint32_t e, uint32_t f, uint32_t g,
                         uint32_t& h, uint32_t word) {
  const uint32_t sum1 = rotate_right(e, 6) ^ rotate_right(e, 11) ^ rotate_right(e, 25);
  const uint32_t t = h + sum1 + (g ^ (e & (f ^ g))) + word;
  const uint32_t sum0 = rotate_right(a, 2) ^ rotate_right(a, 13) ^ rotate_right(a, 22);
  d += t;
  h = t + sum0 + ((a & b) | (c & (a | b)));
}

void sha256_block(uint32_t* state, const uint8_t* bytes) {
  uint32_t w[64];
  for (int i = 0; i < 16; ++i)
    w[i] = uint32_t{bytes[4 * i]} << 24 | uint32_t{bytes[4 * i + 1]} << 16 | uint32_t{bytes[4 * i + 2]} << 8 |
           uint32_t{bytes[4 * i + 3]};
  for (int i = 16; i < 64; ++i) {
    const uint32_t s0 = rotate_right(w[i - 15], 7) ^ rotate_right(w[i - 15], 18) ^ (w[i - 15] >> 3);
    const uint32_t s1 = rotate_right(w[i - 2], 17) ^ rotate_right(w[i - 2], 19) ^ (w[i - 2] >> 10);
    w[i] = w[i - 16] + s0 + w[i - 7] + s1;
  }
  uint32_t a = state[0], b = state[1], c = state[2], d = state[3], e = state[4], f = state[5], g = state[6],
           h = state[7];
  // Eight rounds turn the names once around, so that no word moves.
  for (int i = 0; i < 64; i += 8) {
    sha256_round(a, b, c, d, e, f, g, h, kSha256Round[i] + w[i]);
    sha256_round(h, a, b, c, d, e, f, g, kSha256Round[i + 1] + w[i + 1]);
    sha256_round(g, h, a, b, c, d, e, f, kSha256Round[i + 2] + w[i + 2]);
    sha256_round(f, g, h, a, b, c, d, e, kSha256Round[i + 3] + w[i + 3]);
    sha256_round(e, f, g, h, a, b, c, d, kSha256Round[i + 4] + w[i + 4]);
    sha256_round(d, e, f, g, h, a, b, c, kSha256Round[i + 5] + w[i + 5]);
    sha256_round(c, d, e, f, g, h, a, b, kSha256Round[i + 6] + w[i + 6]);
    sha256_round(b, c, d, e, f, g, h, a, kSha256Round[i + 7] + w[i + 7]);
  }
  const uint32_t s[8] = {a, b, c, d, e, f, g, h};
  for (int i = 0; i < 8; ++i) state[i] += s[i];
}

}  // namespace

void sha256_scalar(uint32_t* state, const uint8_t* bytes, size_t count) {
  for (size_t i = 0; i < count; ++i) sha256_block(state, bytes + i * kSha256BlockBytes);
}

}  // namespace intaglio
