// Which instruction sets this build compiled kernels for. CMake defines ITG_HAVE_<ISA> for each.
#pragma once

#include "intaglio/isa.h"

// For the lists of kernels: the mask of an ISA by its name, and a function that is there only where its file
// was compiled. A descriptor stays either way, so that a host can size any target.
#define ITG_NEEDS_scalar ::intaglio::isa::kScalar
#define ITG_NEEDS_avx2 ::intaglio::isa::kAvx2
#define ITG_NEEDS_avxvnni ::intaglio::isa::kAvxVnni
#define ITG_NEEDS_avx512ymm ::intaglio::isa::kAvx512Ymm
#define ITG_NEEDS_avx512vnni ::intaglio::isa::kAvx512Vnni
#define ITG_NEEDS_neon ::intaglio::isa::kNeon
#define ITG_NEEDS_neondot ::intaglio::isa::kNeonDot
#define ITG_NEEDS_neoni8mm ::intaglio::isa::kNeonI8mm
#define ITG_NEEDS_dsp ::intaglio::isa::kDsp
#define ITG_NEEDS_helium ::intaglio::isa::kHelium

#define ITG_COMPILED_scalar(function) function
#ifdef ITG_HAVE_AVX2
#define ITG_COMPILED_avx2(function) function
#else
#define ITG_COMPILED_avx2(function) nullptr
#endif
#ifdef ITG_HAVE_AVXVNNI
#define ITG_COMPILED_avxvnni(function) function
#else
#define ITG_COMPILED_avxvnni(function) nullptr
#endif
#ifdef ITG_HAVE_AVX512YMM
#define ITG_COMPILED_avx512ymm(function) function
#else
#define ITG_COMPILED_avx512ymm(function) nullptr
#endif
#ifdef ITG_HAVE_AVX512VNNI
#define ITG_COMPILED_avx512vnni(function) function
#else
#define ITG_COMPILED_avx512vnni(function) nullptr
#endif
#ifdef ITG_HAVE_NEON
#define ITG_COMPILED_neon(function) function
#else
#define ITG_COMPILED_neon(function) nullptr
#endif
#ifdef ITG_HAVE_NEONDOT
#define ITG_COMPILED_neondot(function) function
#else
#define ITG_COMPILED_neondot(function) nullptr
#endif
#ifdef ITG_HAVE_NEONI8MM
#define ITG_COMPILED_neoni8mm(function) function
#else
#define ITG_COMPILED_neoni8mm(function) nullptr
#endif
#ifdef ITG_HAVE_DSP
#define ITG_COMPILED_dsp(function) function
#else
#define ITG_COMPILED_dsp(function) nullptr
#endif
#ifdef ITG_HAVE_HELIUM
#define ITG_COMPILED_helium(function) function
#else
#define ITG_COMPILED_helium(function) nullptr
#endif

namespace intaglio {

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
#ifdef ITG_HAVE_NEON
                                        | isa::kNeon
#endif
#ifdef ITG_HAVE_NEONDOT
                                        | isa::kNeonDot
#endif
#ifdef ITG_HAVE_NEONI8MM
                                        | isa::kNeonI8mm
#endif
#ifdef ITG_HAVE_DSP
                                        | isa::kDsp
#endif
#ifdef ITG_HAVE_HELIUM
                                        | isa::kHelium
#endif
    ;

}  // namespace intaglio
