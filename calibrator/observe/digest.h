// SHA-256 (FIPS 180-4): names samples and graphs, the same on every machine.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/digest/sha256.h"

namespace intaglio {

struct Digest {
  uint8_t bytes[32] = {};
};

bool operator==(const Digest& a, const Digest& b);
bool operator<(const Digest& a, const Digest& b);  // as big-endian numbers
// Half of the samples that the sample of this digest belongs to: 0 even, 1 odd.
constexpr int32_t half_of(const Digest& digest) { return digest.bytes[31] & 1; }

class Sha256 {
 public:
  Sha256() : Sha256(sha256_best(isa::kScalar)) { asked_ = false; }  // asks the CPU where that is worth it
  explicit Sha256(const Sha256Kernel& kernel) : kernel_(&kernel) {}
  void update(const void* data, size_t size);
  Digest finish();  // once

 private:
  const Sha256Kernel* kernel_;
  bool asked_ = true;
  uint32_t state_[8] = {0x6a09e667u, 0xbb67ae85u, 0x3c6ef372u, 0xa54ff53au,
                        0x510e527fu, 0x9b05688cu, 0x1f83d9abu, 0x5be0cd19u};
  uint64_t length_ = 0;
  uint8_t pending_[64] = {};
};

// A digest of a set, in whatever order it grows or is merged: the sum of its members' digests as numbers
// modulo 2^256.
void add_to_set(Digest& set, const Digest& member);

// Tells the samples of one run apart, some twenty times as fast. Of this machine: never stored, never
// compared with another's. Starts with 0; feed each piece.
uint64_t fingerprint(uint64_t so_far, const void* data, size_t size);

}  // namespace intaglio
