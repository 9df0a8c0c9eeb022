// Instruction sets: which ones a kernel needs, which ones a CPU has. Their list is intaglio/isa_list.inc.
#pragma once

#include <cstdint>

namespace intaglio {

// A set of instruction sets, one bit for each. Zero is plain C++: every CPU has it.
using IsaMask = uint32_t;

// isa::kAvx2 and so on.
namespace isa {
inline constexpr IsaMask kScalar = 0;         // none: plain C++
inline constexpr IsaMask kAll = 0xffffffffu;  // every one
#define ITG_ISA(name, constant, bit, ...) inline constexpr IsaMask constant = IsaMask{1} << bit;
#define ITG_DIGEST_ISA ITG_ISA
#include "intaglio/isa_list.inc"
#undef ITG_DIGEST_ISA
#undef ITG_ISA

// The instruction set that this one is: of an order for in-order cores that whose instructions it orders. Kernels of both read the
// same packed weights.
constexpr IsaMask without_order(IsaMask bit) {
  return bit == kNeonA53 ? kNeon : bit == kNeonA55 ? kNeonDot : bit;
}
}  // namespace isa

// An instruction set by name.
struct IsaName {
  IsaMask bit;
  const char* name;    // as in kernel names and `--isa`
  const char* family;  // "x86", "arm", "cortex-m"; "": every machine
};

// Every instruction set that a model's kernels may need, least first. Those for digests alone are not among them.
inline constexpr IsaName kIsaNames[] = {
    {isa::kScalar, "scalar", ""},
#define ITG_ISA(name, constant, bit, family, ...) {isa::constant, #name, family},
#define ITG_DIGEST_ISA(...)
#include "intaglio/isa_list.inc"
#undef ITG_DIGEST_ISA
#undef ITG_ISA
};

}  // namespace intaglio
