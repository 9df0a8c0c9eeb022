#include "calibrator/digest.h"

#include <cstring>

namespace intaglio {
namespace {

constexpr uint32_t kRound[64] = {
    0x428a2f98u, 0x71374491u, 0xb5c0fbcfu, 0xe9b5dba5u, 0x3956c25bu, 0x59f111f1u, 0x923f82a4u, 0xab1c5ed5u,
    0xd807aa98u, 0x12835b01u, 0x243185beu, 0x550c7dc3u, 0x72be5d74u, 0x80deb1feu, 0x9bdc06a7u, 0xc19bf174u,
    0xe49b69c1u, 0xefbe4786u, 0x0fc19dc6u, 0x240ca1ccu, 0x2de92c6fu, 0x4a7484aau, 0x5cb0a9dcu, 0x76f988dau,
    0x983e5152u, 0xa831c66du, 0xb00327c8u, 0xbf597fc7u, 0xc6e00bf3u, 0xd5a79147u, 0x06ca6351u, 0x14292967u,
    0x27b70a85u, 0x2e1b2138u, 0x4d2c6dfcu, 0x53380d13u, 0x650a7354u, 0x766a0abbu, 0x81c2c92eu, 0x92722c85u,
    0xa2bfe8a1u, 0xa81a664bu, 0xc24b8b70u, 0xc76c51a3u, 0xd192e819u, 0xd6990624u, 0xf40e3585u, 0x106aa070u,
    0x19a4c116u, 0x1e376c08u, 0x2748774cu, 0x34b0bcb5u, 0x391c0cb3u, 0x4ed8aa4au, 0x5b9cca4fu, 0x682e6ff3u,
    0x748f82eeu, 0x78a5636fu, 0x84c87814u, 0x8cc70208u, 0x90befffau, 0xa4506cebu, 0xbef9a3f7u, 0xc67178f2u};

uint32_t rotate_right(uint32_t x, int bits) { return (x >> bits) | (x << (32 - bits)); }

inline void round(uint32_t a, uint32_t b, uint32_t c, uint32_t& d, uint32_t e, uint32_t f, uint32_t g,
                  uint32_t& h, uint32_t word) {
  const uint32_t sum1 = rotate_right(e, 6) ^ rotate_right(e, 11) ^ rotate_right(e, 25);
  const uint32_t t = h + sum1 + (g ^ (e & (f ^ g))) + word;
  const uint32_t sum0 = rotate_right(a, 2) ^ rotate_right(a, 13) ^ rotate_right(a, 22);
  d += t;
  h = t + sum0 + ((a & b) | (c & (a | b)));
}

}  // namespace

bool operator==(const Digest& a, const Digest& b) { return memcmp(a.bytes, b.bytes, sizeof a.bytes) == 0; }
bool operator<(const Digest& a, const Digest& b) { return memcmp(a.bytes, b.bytes, sizeof a.bytes) < 0; }

void Sha256::block(const uint8_t* bytes) {
  uint32_t w[64];
  for (int i = 0; i < 16; ++i)
    w[i] = uint32_t{bytes[4 * i]} << 24 | uint32_t{bytes[4 * i + 1]} << 16 | uint32_t{bytes[4 * i + 2]} << 8 |
           uint32_t{bytes[4 * i + 3]};
  for (int i = 16; i < 64; ++i) {
    const uint32_t s0 = rotate_right(w[i - 15], 7) ^ rotate_right(w[i - 15], 18) ^ (w[i - 15] >> 3);
    const uint32_t s1 = rotate_right(w[i - 2], 17) ^ rotate_right(w[i - 2], 19) ^ (w[i - 2] >> 10);
    w[i] = w[i - 16] + s0 + w[i - 7] + s1;
  }
  uint32_t a = state_[0], b = state_[1], c = state_[2], d = state_[3], e = state_[4], f = state_[5],
           g = state_[6], h = state_[7];
  // Eight rounds turn the names once around, so that no word moves.
  for (int i = 0; i < 64; i += 8) {
    round(a, b, c, d, e, f, g, h, kRound[i] + w[i]);
    round(h, a, b, c, d, e, f, g, kRound[i + 1] + w[i + 1]);
    round(g, h, a, b, c, d, e, f, kRound[i + 2] + w[i + 2]);
    round(f, g, h, a, b, c, d, e, kRound[i + 3] + w[i + 3]);
    round(e, f, g, h, a, b, c, d, kRound[i + 4] + w[i + 4]);
    round(d, e, f, g, h, a, b, c, kRound[i + 5] + w[i + 5]);
    round(c, d, e, f, g, h, a, b, kRound[i + 6] + w[i + 6]);
    round(b, c, d, e, f, g, h, a, kRound[i + 7] + w[i + 7]);
  }
  const uint32_t s[8] = {a, b, c, d, e, f, g, h};
  for (int i = 0; i < 8; ++i) state_[i] += s[i];
}

void Sha256::update(const void* data, size_t size) {
  const auto* bytes = static_cast<const uint8_t*>(data);
  while (size > 0) {
    const size_t held = length_ % sizeof pending_;
    if (held == 0 && size >= sizeof pending_) {
      block(bytes);
      length_ += sizeof pending_;
      bytes += sizeof pending_;
      size -= sizeof pending_;
      continue;
    }
    const size_t take = size < sizeof pending_ - held ? size : sizeof pending_ - held;
    memcpy(pending_ + held, bytes, take);
    length_ += take;
    bytes += take;
    size -= take;
    if (length_ % sizeof pending_ == 0) block(pending_);
  }
}

Digest Sha256::finish() {
  const uint64_t bits = length_ * 8;
  const uint8_t one = 0x80, zero = 0;
  update(&one, 1);
  while (length_ % sizeof pending_ != 56) update(&zero, 1);
  uint8_t length[8];
  for (int i = 0; i < 8; ++i) length[i] = static_cast<uint8_t>(bits >> (56 - 8 * i));
  update(length, sizeof length);
  Digest digest;
  for (int i = 0; i < 32; ++i) digest.bytes[i] = static_cast<uint8_t>(state_[i / 4] >> (24 - 8 * (i % 4)));
  return digest;
}

uint64_t fingerprint(uint64_t so_far, const void* data, size_t size) {
  constexpr uint64_t kFactor = 0x9e3779b97f4a7c15u;  // odd: no step loses anything
  constexpr size_t kLanes = 4, kBlock = kLanes * sizeof(uint64_t);
  uint64_t lanes[kLanes] = {so_far ^ size, so_far + 1, so_far + 2, so_far + 3};
  const auto* bytes = static_cast<const uint8_t*>(data);
  const auto mix = [&lanes](const uint8_t* at) {
    for (size_t lane = 0; lane < kLanes; ++lane) {
      uint64_t word;
      memcpy(&word, at + lane * sizeof word, sizeof word);
      const uint64_t mixed = (lanes[lane] ^ word) * kFactor;
      lanes[lane] = mixed ^ (mixed >> 32);
    }
  };
  for (; size >= kBlock; bytes += kBlock, size -= kBlock) mix(bytes);
  uint8_t last[kBlock] = {};
  if (size > 0) memcpy(last, bytes, size);
  mix(last);
  uint64_t all = 0;
  for (const uint64_t lane : lanes) {
    const uint64_t mixed = (all ^ lane) * kFactor;
    all = mixed ^ (mixed >> 32);
  }
  return all;
}

void add_to_set(Digest& set, const Digest& member) {
  uint32_t carry = 0;
  for (int i = 31; i >= 0; --i) {
    carry += uint32_t{set.bytes[i]} + member.bytes[i];
    set.bytes[i] = static_cast<uint8_t>(carry);
    carry >>= 8;
  }
}

}  // namespace intaglio
