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

}  // namespace intaglio
