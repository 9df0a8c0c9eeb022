#include "intaglio/platform.h"
#include "platforms/in_order_cores.h"

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
  constexpr uint32_t kVnni = bit(11), kVbmi = bit(1);
  if ((saved & kZmmState) == kZmmState && (b7 & kFoundation) == kFoundation && (c7 & kVnni) != 0) {
    found |= isa::kAvx512Ymm | isa::kAvx512Vnni;
    if ((c7 & kVbmi) != 0) found |= isa::kAvx512Vbmi;
  }
  return found;
}

#elif defined(__linux__) && defined(__aarch64__)

namespace {

// The system calls themselves: a device's library needs no more of its C library than memcpy and the like.
long call(long number, long a, long b, long c, long d) {
  register long x8 __asm__("x8") = number;
  register long x0 __asm__("x0") = a;
  register long x1 __asm__("x1") = b;
  register long x2 __asm__("x2") = c;
  register long x3 __asm__("x3") = d;
  __asm__ volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3) : "memory");
  return x0;
}
constexpr long kOpenat = 56, kClose = 57, kRead = 63, kSchedGetaffinity = 123;

// MIDR_EL1 of a core, as the kernel shows it; 0 where it does not.
uint64_t midr_of(uint32_t core) {
  constexpr char kBefore[] = "/sys/devices/system/cpu/cpu", kAfter[] = "/regs/identification/midr_el1";
  constexpr long kWorkingFolder = -100;
  char path[sizeof kBefore + sizeof kAfter + 10];
  char* to = path;
  for (const char* from = kBefore; *from != 0;) *to++ = *from++;
  char digits[10];
  int32_t count = 0;
  do {
    digits[count++] = static_cast<char>('0' + core % 10);
    core /= 10;
  } while (core != 0);
  while (count > 0) *to++ = digits[--count];
  for (const char* from = kAfter; *from != 0;) *to++ = *from++;
  *to = 0;
  const long file = call(kOpenat, kWorkingFolder, reinterpret_cast<long>(path), 0, 0);
  if (file < 0) return 0;
  char text[32];  // "0x00000000410fd034\n"
  const long size = call(kRead, file, reinterpret_cast<long>(text), sizeof text, 0);
  call(kClose, file, 0, 0, 0);
  uint64_t midr = 0;
  for (long i = 2; i < size && text[i] > ' '; ++i)
    midr = midr << 4 | static_cast<uint64_t>(text[i] <= '9' ? text[i] - '0' : (text[i] | 0x20) - 'a' + 10);
  return midr;
}

// The schedule that all cores want which this thread may run on. Where the kernel does not show them: this one, if it lets
// programs ask.
IsaMask schedule_here(IsaMask found) {
  constexpr uint32_t kCores = 1024;
  constexpr unsigned long kHwcapCpuid = 1ul << 11;
  uint8_t allowed[kCores / 8] = {};
  const long bytes = call(kSchedGetaffinity, 0, sizeof allowed, reinterpret_cast<long>(allowed), 0);
  SharedSchedule cores(found);
  for (uint32_t i = 0; bytes > 0 && i < 8 * static_cast<uint32_t>(bytes); ++i) {
    if ((allowed[i / 8] >> (i % 8) & 1) == 0) continue;
    const uint64_t midr = midr_of(i);
    if (midr != 0 && !cores.add(midr)) return isa::kScalar;
  }
  if (!cores.any() && (getauxval(AT_HWCAP) & kHwcapCpuid) != 0) {
    uint64_t midr;
    __asm__("mrs %0, midr_el1" : "=r"(midr));
    cores.add(midr);
  }
  return cores.shared();
}

}  // namespace

IsaMask cpu_isa() {
  constexpr unsigned long kHwcapAsimdDp = 1ul << 20, kHwcapSha2 = 1ul << 6, kHwcap2I8mm = 1ul << 13;
  IsaMask found = isa::kNeon;
  if ((getauxval(AT_HWCAP) & kHwcapAsimdDp) != 0) found |= isa::kNeonDot;
  if ((getauxval(AT_HWCAP) & kHwcapSha2) != 0) found |= isa::kNeonSha2;
  if ((getauxval(AT_HWCAP2) & kHwcap2I8mm) != 0) found |= isa::kNeonI8mm;
  return found | schedule_here(found);
}

#elif defined(__linux__) && defined(__arm__)

IsaMask cpu_isa() {
  // NEON, and the fused multiply-add of VFPv4: Cortex-A8 and A9 lack it.
  constexpr unsigned long kNeeded = 1ul << 12 | 1ul << 16;
  IsaMask found = isa::kScalar;
  if ((getauxval(AT_HWCAP) & kNeeded) == kNeeded) found |= isa::kNeon;
#if defined(__ARM_FEATURE_DSP)
  found |= isa::kDsp;  // what Cortex-M took over; compiled here by the preset armv7-dsp alone
#endif
  return found;
}

#else

// Bare metal: the compiler was told which CPU the program is for.
IsaMask cpu_isa() {
  IsaMask found = isa::kScalar;
#if defined(__ARM_NEON) && (defined(__aarch64__) || defined(__ARM_FEATURE_FMA))
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

IsaMask in_order_schedule(uint64_t midr, IsaMask found) {
  struct Core {
    uint16_t part;
    uint8_t implementer;
    IsaMask schedule;
  };
  static constexpr Core kCores[] = {
#define ITG_IN_ORDER_CORE(implementer, part, schedule, name) {part, implementer, isa::schedule},
#include "platforms/in_order_cores.inc"
#undef ITG_IN_ORDER_CORE
  };
  for (const Core& core : kCores) {
    if (((midr >> 24) & 0xff) != core.implementer || ((midr >> 4) & 0xfff) != core.part) continue;
    const bool dots = (found & isa::kNeonDot) != 0;
    return core.schedule == isa::kNeonA55 && !dots ? isa::kNeonA53 : core.schedule;
  }
  return isa::kScalar;
}

}  // namespace intaglio
