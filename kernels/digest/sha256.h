// The blocks of SHA-256 (FIPS 180-4): padding and length are the caller's, calibrator/observe/digest.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "intaglio/isa.h"

namespace intaglio {

inline constexpr size_t kSha256BlockBytes = 64;

// A function is nullptr where this build has not compiled it.
struct Sha256Kernel {
  const char* name;
  IsaMask isa;
  // Takes bytes [count, 64] into the eight words of the state.
  void (*blocks)(uint32_t* state, const uint8_t* bytes, size_t count);
};

// Best first. The scalar kernel is the last one.
int32_t sha256_count();
const Sha256Kernel& sha256_kernel(int32_t index);
// The best one that `isa` allows and this build has compiled: pass cpu_isa(). No plan for another machine
// names one.
const Sha256Kernel& sha256_best(IsaMask isa);

namespace {

// The constants of SHA-256's rounds: the first 32 bits of the fractional parts of the cube roots of the first
// 64 primes.
constexpr uint32_t kSha256Round[64] = {
    0x428a2f98u, 0x71374491u, 0xb5c0fbcfu, 0xe9b5dba5u, 0x3956c25bu, 0x59f111f1u, 0x923f82a4u, 0xab1c5ed5u,
    0xd807aa98u, 0x12835b01u, 0x243185beu, 0x550c7dc3u, 0x72be5d74u, 0x80deb1feu, 0x9bdc06a7u, 0xc19bf174u,
    0xe49b69c1u, 0xefbe4786u, 0x0fc19dc6u, 0x240ca1ccu, 0x2de92c6fu, 0x4a7484aau, 0x5cb0a9dcu, 0x76f988dau,
    0x983e5152u, 0xa831c66du, 0xb00327c8u, 0xbf597fc7u, 0xc6e00bf3u, 0xd5a79147u, 0x06ca6351u, 0x14292967u,
    0x27b70a85u, 0x2e1b2138u, 0x4d2c6dfcu, 0x53380d13u, 0x650a7354u, 0x766a0abbu, 0x81c2c92eu, 0x92722c85u,
    0xa2bfe8a1u, 0xa81a664bu, 0xc24b8b70u, 0xc76c51a3u, 0xd192e819u, 0xd6990624u, 0xf40e3585u, 0x106aa070u,
    0x19a4c116u, 0x1e376c08u, 0x2748774cu, 0x34b0bcb5u, 0x391c0cb3u, 0x4ed8aa4au, 0x5b9cca4fu, 0x682e6ff3u,
    0x748f82eeu, 0x78a5636fu, 0x84c87814u, 0x8cc70208u, 0x90befffau, 0xa4506cebu, 0xbef9a3f7u, 0xc67178f2u};

}  // namespace
}  // namespace intaglio
