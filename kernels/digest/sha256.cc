#include "kernels/digest/sha256.h"

#include "kernels/compiled_isa.h"

namespace intaglio {

#define ITG_SHA256(suffix, isa) void sha256_##suffix(uint32_t* state, const uint8_t* bytes, size_t count);
#include "kernels/digest/sha256_kernels.inc"
#undef ITG_SHA256

namespace {

#define ITG_SHA256(suffix, isa) \
  ITG_LISTED_##isa({"sha256_" #suffix, ITG_NEEDS_##isa, ITG_COMPILED_##isa(sha256_##suffix)}, )
const Sha256Kernel kKernels[] = {
#include "kernels/digest/sha256_kernels.inc"
};
#undef ITG_SHA256

constexpr int32_t kCount = sizeof kKernels / sizeof kKernels[0];

}  // namespace

int32_t sha256_count() { return kCount; }
const Sha256Kernel& sha256_kernel(int32_t index) { return kKernels[index]; }

const Sha256Kernel& sha256_best(IsaMask isa) {
  int32_t i = 0;
  while (i < kCount - 1 && (kKernels[i].isa & ~(isa & kCompiledIsa)) != 0) ++i;
  return kKernels[i];
}

}  // namespace intaglio
