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

}  // namespace

ITG_KERNEL_LIST(Sha256Kernel, sha256, kKernels)

const Sha256Kernel& sha256_best(IsaMask isa) { return kKernels[first_allowed(kKernels, isa & kCompiledIsa)]; }

}  // namespace intaglio
