#include "kernels/digest/sha256.h"

#include "kernels/compiled_isa.h"

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
