// Instruction sets: which ones a kernel needs, which ones a CPU has.
#pragma once

#include <cstdint>

namespace intaglio {

// A set of instruction sets, one bit each. Zero is plain C++: every CPU has it.
using IsaMask = uint32_t;

namespace isa {
inline constexpr IsaMask kScalar = 0;
inline constexpr IsaMask kAvx2 = 1u << 0;  // with FMA3 and PCLMULQDQ, as every CPU that has it
inline constexpr IsaMask kAvxVnni = 1u << 1;
inline constexpr IsaMask kAvx512Ymm = 1u << 2;   // AVX-512 VNNI on 256 bits, for CPUs that slow down on 512
inline constexpr IsaMask kAvx512Vnni = 1u << 3;  // with F, BW, DQ, VL
inline constexpr IsaMask kShaNi = 1u << 4;       // x86's SHA extensions, with SSE4.1
inline constexpr IsaMask kNeon = 1u << 8;
inline constexpr IsaMask kNeonDot = 1u << 9;
inline constexpr IsaMask kNeonI8mm = 1u << 10;
inline constexpr IsaMask kNeonSha2 = 1u << 11;  // SHA-256 of ARMv8's cryptographic extension
inline constexpr IsaMask kDsp = 1u << 16;       // Cortex-M DSP extension
inline constexpr IsaMask kHelium = 1u << 17;    // Cortex-M MVE
inline constexpr IsaMask kAll = 0xffffffffu;
}  // namespace isa

struct IsaName {
  IsaMask bit;
  const char* name;  // as in kernel names and `--isa`
};

// Every instruction set that a model's kernels may need, least first: not those of digests alone, kShaNi and
// kNeonSha2.
inline constexpr IsaName kIsaNames[] = {
    {isa::kScalar, "scalar"},
    {isa::kAvx2, "avx2"},
    {isa::kAvxVnni, "avxvnni"},
    {isa::kAvx512Ymm, "avx512ymm"},
    {isa::kAvx512Vnni, "avx512vnni"},
    {isa::kNeon, "neon"},
    {isa::kNeonDot, "neondot"},
    {isa::kNeonI8mm, "neoni8mm"},
    {isa::kDsp, "dsp"},
    {isa::kHelium, "helium"},
};

}  // namespace intaglio
