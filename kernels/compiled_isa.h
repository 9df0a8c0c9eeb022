// Which instruction sets this build compiled kernels for. CMake defines ITG_HAVE_<ISA> for each.
#pragma once

#include "intaglio/isa.h"

// For the lists of kernels: the mask of an ISA by its name; a function that is there only where its file was
// compiled; and a whole descriptor, which stays without its function, so that a host can size any target.
#define ITG_NEEDS_scalar ::intaglio::isa::kScalar
#define ITG_NEEDS_avx2 ::intaglio::isa::kAvx2
#define ITG_NEEDS_avxvnni ::intaglio::isa::kAvxVnni
#define ITG_NEEDS_avx512ymm ::intaglio::isa::kAvx512Ymm
#define ITG_NEEDS_avx512vnni ::intaglio::isa::kAvx512Vnni
#define ITG_NEEDS_shani ::intaglio::isa::kShaNi
#define ITG_NEEDS_neon ::intaglio::isa::kNeon
#define ITG_NEEDS_neondot ::intaglio::isa::kNeonDot
#define ITG_NEEDS_neoni8mm ::intaglio::isa::kNeonI8mm
#define ITG_NEEDS_neonsha2 ::intaglio::isa::kNeonSha2
#define ITG_NEEDS_dsp ::intaglio::isa::kDsp
#define ITG_NEEDS_helium ::intaglio::isa::kHelium

// Where no kernel of an ISA was compiled. A Cortex-M lists its own kernels alone: flash is short.
#if defined(__ARM_ARCH_PROFILE) && __ARM_ARCH_PROFILE == 'M'
#define ITG_ABSENT(...)
#else
#define ITG_ABSENT(...) __VA_ARGS__
#endif

#define ITG_COMPILED_scalar(function) function
#define ITG_LISTED_scalar(...) __VA_ARGS__
#ifdef ITG_HAVE_AVX2
#define ITG_COMPILED_avx2(function) function
#define ITG_LISTED_avx2(...) __VA_ARGS__
#else
#define ITG_COMPILED_avx2(function) nullptr
#define ITG_LISTED_avx2(...) ITG_ABSENT(__VA_ARGS__)
#endif
#ifdef ITG_HAVE_AVXVNNI
#define ITG_COMPILED_avxvnni(function) function
#define ITG_LISTED_avxvnni(...) __VA_ARGS__
#else
#define ITG_COMPILED_avxvnni(function) nullptr
#define ITG_LISTED_avxvnni(...) ITG_ABSENT(__VA_ARGS__)
#endif
#ifdef ITG_HAVE_AVX512YMM
#define ITG_COMPILED_avx512ymm(function) function
#define ITG_LISTED_avx512ymm(...) __VA_ARGS__
#else
#define ITG_COMPILED_avx512ymm(function) nullptr
#define ITG_LISTED_avx512ymm(...) ITG_ABSENT(__VA_ARGS__)
#endif
#ifdef ITG_HAVE_AVX512VNNI
#define ITG_COMPILED_avx512vnni(function) function
#define ITG_LISTED_avx512vnni(...) __VA_ARGS__
#else
#define ITG_COMPILED_avx512vnni(function) nullptr
#define ITG_LISTED_avx512vnni(...) ITG_ABSENT(__VA_ARGS__)
#endif
#ifdef ITG_HAVE_SHANI
#define ITG_COMPILED_shani(function) function
#define ITG_LISTED_shani(...) __VA_ARGS__
#else
#define ITG_COMPILED_shani(function) nullptr
#define ITG_LISTED_shani(...) ITG_ABSENT(__VA_ARGS__)
#endif
#ifdef ITG_HAVE_NEON
#define ITG_COMPILED_neon(function) function
#define ITG_LISTED_neon(...) __VA_ARGS__
#else
#define ITG_COMPILED_neon(function) nullptr
#define ITG_LISTED_neon(...) ITG_ABSENT(__VA_ARGS__)
#endif
#ifdef ITG_HAVE_NEONDOT
#define ITG_COMPILED_neondot(function) function
#define ITG_LISTED_neondot(...) __VA_ARGS__
#else
#define ITG_COMPILED_neondot(function) nullptr
#define ITG_LISTED_neondot(...) ITG_ABSENT(__VA_ARGS__)
#endif
#ifdef ITG_HAVE_NEONI8MM
#define ITG_COMPILED_neoni8mm(function) function
#define ITG_LISTED_neoni8mm(...) __VA_ARGS__
#else
#define ITG_COMPILED_neoni8mm(function) nullptr
#define ITG_LISTED_neoni8mm(...) ITG_ABSENT(__VA_ARGS__)
#endif
#ifdef ITG_HAVE_NEONSHA2
#define ITG_COMPILED_neonsha2(function) function
#define ITG_LISTED_neonsha2(...) __VA_ARGS__
#else
#define ITG_COMPILED_neonsha2(function) nullptr
#define ITG_LISTED_neonsha2(...) ITG_ABSENT(__VA_ARGS__)
#endif
#ifdef ITG_HAVE_DSP
#define ITG_COMPILED_dsp(function) function
#define ITG_LISTED_dsp(...) __VA_ARGS__
#else
#define ITG_COMPILED_dsp(function) nullptr
#define ITG_LISTED_dsp(...) ITG_ABSENT(__VA_ARGS__)
#endif
#ifdef ITG_HAVE_HELIUM
#define ITG_COMPILED_helium(function) function
#define ITG_LISTED_helium(...) __VA_ARGS__
#else
#define ITG_COMPILED_helium(function) nullptr
#define ITG_LISTED_helium(...) ITG_ABSENT(__VA_ARGS__)
#endif

namespace intaglio {

// Whether any kernel of this build reads weights otherwise than they stand in a model. Those of a Cortex-M do
// not.
#if defined(__ARM_ARCH_PROFILE) && __ARM_ARCH_PROFILE == 'M'
inline constexpr bool kPacksWeights = false;
#else
inline constexpr bool kPacksWeights = true;
#endif

// What a session on this machine may choose from: cpu_isa() & kCompiledIsa.
inline constexpr IsaMask kCompiledIsa = isa::kScalar
#ifdef ITG_HAVE_AVX2
                                        | isa::kAvx2
#endif
#ifdef ITG_HAVE_AVXVNNI
                                        | isa::kAvxVnni
#endif
#ifdef ITG_HAVE_AVX512YMM
                                        | isa::kAvx512Ymm
#endif
#ifdef ITG_HAVE_AVX512VNNI
                                        | isa::kAvx512Vnni
#endif
#ifdef ITG_HAVE_SHANI
                                        | isa::kShaNi
#endif
#ifdef ITG_HAVE_NEON
                                        | isa::kNeon
#endif
#ifdef ITG_HAVE_NEONDOT
                                        | isa::kNeonDot
#endif
#ifdef ITG_HAVE_NEONI8MM
                                        | isa::kNeonI8mm
#endif
#ifdef ITG_HAVE_NEONSHA2
                                        | isa::kNeonSha2
#endif
#ifdef ITG_HAVE_DSP
                                        | isa::kDsp
#endif
#ifdef ITG_HAVE_HELIUM
                                        | isa::kHelium
#endif
    ;

// What this build's lists hold, by which kernels are numbered.
#if defined(__ARM_ARCH_PROFILE) && __ARM_ARCH_PROFILE == 'M'
inline constexpr IsaMask kListedIsa = kCompiledIsa;
#else
inline constexpr IsaMask kListedIsa = isa::kAll;
#endif

}  // namespace intaglio
