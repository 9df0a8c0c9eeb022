// Instruction sets: which ones a kernel needs, which ones a CPU has. The list of them is isa_list.inc.
#pragma once

#include <cstdint>

namespace intaglio {

// A set of instruction sets, one bit each. Zero is plain C++: every CPU has it.
using IsaMask = uint32_t;

// isa::kAvx2 and so on.
namespace isa {
inline constexpr IsaMask kScalar = 0;
inline constexpr IsaMask kAll = 0xffffffffu;
#define ITG_ISA(name, constant, bit, ...) inline constexpr IsaMask constant = IsaMask{1} << bit;
#define ITG_DIGEST_ISA ITG_ISA
#include "intaglio/isa_list.inc"
#undef ITG_DIGEST_ISA
#undef ITG_ISA
}  // namespace isa

struct IsaName {
  IsaMask bit;
  const char* name;    // as in kernel names and `--isa`
  const char* family;  // "x86", "arm", "cortex-m"; "": every machine
};

// Every instruction set that a model's kernels may need, least first: not those of digests alone.
inline constexpr IsaName kIsaNames[] = {
    {isa::kScalar, "scalar", ""},
#define ITG_ISA(name, constant, bit, family, ...) {isa::constant, #name, family},
#define ITG_DIGEST_ISA(...)
#include "intaglio/isa_list.inc"
#undef ITG_DIGEST_ISA
#undef ITG_ISA
};

}  // namespace intaglio
