#include "calibrator/observe/digest.h"

#include <cstring>

#include "intaglio/platform.h"

namespace intaglio {

bool operator==(const Digest& a, const Digest& b) { return memcmp(a.bytes, b.bytes, sizeof a.bytes) == 0; }
bool operator<(const Digest& a, const Digest& b) { return memcmp(a.bytes, b.bytes, sizeof a.bytes) < 0; }

void Sha256::update(const void* data, size_t size) {
  constexpr size_t kWorthAsking = 4096;  // what the CPU has takes a virtual machine microseconds to say
  if (!asked_ && size >= kWorthAsking) {
    kernel_ = &sha256_best(cpu_isa());
    asked_ = true;
  }
  const auto* bytes = static_cast<const uint8_t*>(data);
  while (size > 0) {
    const size_t held = length_ % sizeof pending_;
    if (held == 0 && size >= sizeof pending_) {
      const size_t blocks = size / sizeof pending_, whole = blocks * sizeof pending_;
      kernel_->blocks(state_, bytes, blocks);
      length_ += whole;
      bytes += whole;
      size -= whole;
      continue;
    }
    const size_t take = size < sizeof pending_ - held ? size : sizeof pending_ - held;
    memcpy(pending_ + held, bytes, take);
    length_ += take;
    bytes += take;
    size -= take;
    if (length_ % sizeof pending_ == 0) kernel_->blocks(state_, pending_, 1);
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
