#include "intaglio/platform.h"

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#elif defined(__linux__) && (defined(__aarch64__) || defined(__arm__))
#include <sys/auxv.h>
#endif

namespace intaglio {

#if defined(__x86_64__) || defined(__i386__)

namespace {

constexpr uint32_t bit(int i) { return uint32_t{1} << i; }

// The register sets that the operating system saves; only where cpuid says that it uses xsave.
uint64_t xcr0() {
  uint32_t low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (uint64_t{high} << 32) | low;
}

}  // namespace

IsaMask cpu_isa() {
  constexpr uint32_t kNeeded = bit(27) | bit(28) | bit(12) | bit(1);  // xsave, AVX, FMA3, carry-less product
  constexpr uint64_t kYmmState = 0x6, kZmmState = 0xe6;
  uint32_t a, b, c, d;
  if (__get_cpuid_count(1, 0, &a, &b, &c, &d) == 0) return isa::kScalar;
  if ((c & kNeeded) != kNeeded) return isa::kScalar;
  const uint64_t saved = xcr0();
  if ((saved & kYmmState) != kYmmState) return isa::kScalar;

  uint32_t b7, c7, d7;
  if (__get_cpuid_count(7, 0, &a, &b7, &c7, &d7) == 0) return isa::kScalar;
  const uint32_t subleaves = a;
  if ((b7 & bit(5)) == 0) return isa::kScalar;
  IsaMask found = isa::kAvx2;
  if (subleaves >= 1 && __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0 && (a & bit(4)) != 0)
    found |= isa::kAvxVnni;
  if ((b7 & bit(29)) != 0) found |= isa::kShaNi;
  constexpr uint32_t kFoundation = bit(16) | bit(17) | bit(30) | bit(31);  // F, DQ, BW, VL
  constexpr uint32_t kVnni = bit(11);
  if ((saved & kZmmState) == kZmmState && (b7 & kFoundation) == kFoundation && (c7 & kVnni) != 0)
    found |= isa::kAvx512Ymm | isa::kAvx512Vnni;
  return found;
}

#elif defined(__linux__) && defined(__aarch64__)

IsaMask cpu_isa() {
  constexpr unsigned long kHwcapAsimdDp = 1ul << 20, kHwcapSha2 = 1ul << 6, kHwcap2I8mm = 1ul << 13;
  IsaMask found = isa::kNeon;
  if ((getauxval(AT_HWCAP) & kHwcapAsimdDp) != 0) found |= isa::kNeonDot;
  if ((getauxval(AT_HWCAP) & kHwcapSha2) != 0) found |= isa::kNeonSha2;
  if ((getauxval(AT_HWCAP2) & kHwcap2I8mm) != 0) found |= isa::kNeonI8mm;
  return found;
}

#elif defined(__linux__) && defined(__arm__)

IsaMask cpu_isa() {
  constexpr unsigned long kHwcapNeon = 1ul << 12;
  IsaMask found = isa::kScalar;
  if ((getauxval(AT_HWCAP) & kHwcapNeon) != 0) found |= isa::kNeon;
#if defined(__ARM_FEATURE_DSP)
  found |= isa::kDsp;  // what Cortex-M took over; compiled here by the preset armv7-dsp alone
#endif
  return found;
}

#else

// Bare metal: the compiler was told which CPU the program is for.
IsaMask cpu_isa() {
  IsaMask found = isa::kScalar;
#if defined(__ARM_NEON)
  found |= isa::kNeon;
#endif
#if defined(__ARM_FEATURE_DOTPROD)
  found |= isa::kNeonDot;
#endif
#if defined(__ARM_FEATURE_MATMUL_INT8)
  found |= isa::kNeonI8mm;
#endif
#if defined(__aarch64__) && defined(__ARM_FEATURE_SHA2)
  found |= isa::kNeonSha2;
#endif
#if defined(__ARM_FEATURE_DSP) && defined(__ARM_ARCH_PROFILE) && __ARM_ARCH_PROFILE == 'M'
  found |= isa::kDsp;
#endif
#if defined(__ARM_FEATURE_MVE) && ((__ARM_FEATURE_MVE & 3) == 3)
  found |= isa::kHelium;
#endif
  return found;
}

#endif

}  // namespace intaglio
