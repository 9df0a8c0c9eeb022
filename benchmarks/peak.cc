#include "benchmarks/peak.h"

#include <chrono>

using intaglio::IsaMask;
namespace isa = intaglio::isa;

namespace {

#if defined(__x86_64__)

#define ITG_CLOBBERS                                                                                         \
  "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", \
      "xmm13", "xmm14", "xmm15"

constexpr int kChains = 12, kRepeats = 8, kRounds = 400;

// Twelve chains of one instruction, eight times over.
#define ITG_CHAINS(instruction, size)                                                                    \
  for (int i = 0; i < kRounds; ++i)                                                                      \
  __asm__ volatile(".rept 8\n\t.irp a,0,1,2,3,4,5,6,7,8,9,10,11\n\t" instruction " %%" size "12,%%" size \
                   "13,%%" size "\\a\n\t.endr\n\t.endr" ::                                               \
                       : ITG_CLOBBERS)

void dot_512() { ITG_CHAINS("vpdpbusd", "zmm"); }
void dot_256() { ITG_CHAINS("vpdpbusd", "ymm"); }
void fma_512() { ITG_CHAINS("vfmadd231ps", "zmm"); }
void fma_256() { ITG_CHAINS("vfmadd231ps", "ymm"); }
void pairs_256() {
  for (int i = 0; i < kRounds; ++i)
    __asm__ volatile(
        ".rept 12\n\t.irp a,0,1,2,3,4,5,6,7\n\tvpmaddubsw %%ymm12,%%ymm13,%%ymm8\n\tvpmaddwd "
        "%%ymm14,%%ymm8,%%ymm8\n\t"
        "vpaddd %%ymm8,%%ymm\\a,%%ymm\\a\n\t.endr\n\t.endr" ::
            : ITG_CLOBBERS);
}

double fastest(void (*run)(), double macs) {
  double best = 1e9;
  for (int i = 0; i < 2000; ++i) {
    const auto start = std::chrono::steady_clock::now();
    run();
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    best = seconds < best ? seconds : best;
  }
  return macs * kChains * kRepeats * kRounds / best;
}

#endif

}  // namespace

double peak_s8(IsaMask mask) {
#if defined(__x86_64__)
  static double found[3] = {};
  if (mask == isa::kAvx512Vnni) return found[0] > 0 ? found[0] : found[0] = fastest(dot_512, 64);
  if (mask == isa::kAvx512Ymm) return found[1] > 0 ? found[1] : found[1] = fastest(dot_256, 32);
  if (mask == isa::kAvx2) return found[2] > 0 ? found[2] : found[2] = fastest(pairs_256, 32);
#endif
  return 0.0 * static_cast<double>(mask);
}

double peak_f32(IsaMask mask) {
#if defined(__x86_64__)
  static double found[2] = {};
  if (mask == isa::kAvx512Vnni) return found[0] > 0 ? found[0] : found[0] = fastest(fma_512, 16);
  if (mask == isa::kAvx2) return found[1] > 0 ? found[1] : found[1] = fastest(fma_256, 8);
#endif
  return 0.0 * static_cast<double>(mask);
}
