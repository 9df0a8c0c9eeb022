// Which instruction sets this build has kernels for, and how lists of kernels are written. CMake defines ITG_HAVE_<isa> as 1
// for each of them (intaglio/isa_list.inc).
#pragma once

#include "intaglio/isa.h"

// ITG_HAVE(avx2): 1 where its kernels are compiled, else 0. Only a value of 1 puts the comma before the 1 below.
#define ITG_HAVE(isa_name) ITG_IS_ONE(ITG_HAVE_##isa_name)
#define ITG_IS_ONE(value) ITG_IS_ONE_(value)
#define ITG_IS_ONE_(value) ITG_SECOND(ITG_COMMA_IF_##value 1, 0, 0)
#define ITG_COMMA_IF_1 ,
#define ITG_SECOND(...) ITG_SECOND_(__VA_ARGS__)
#define ITG_SECOND_(first, second, ...) second
#define ITG_HAVE_scalar 1

// Its text only where the kernels of the instruction set are compiled.
#define ITG_COMPILED(isa_name, ...) ITG_IF(ITG_HAVE(isa_name), __VA_ARGS__)
#define ITG_IF(condition, ...) ITG_IF_(condition, __VA_ARGS__)
#define ITG_IF_(condition, ...) ITG_IF_##condition(__VA_ARGS__)
#define ITG_IF_1(...) __VA_ARGS__
#define ITG_IF_0(...)

// The entries of a list of kernels. A host lists every kernel, those without a function too, so that it can size any
// target. A Cortex-M lists its own alone: flash is short.
#if defined(__ARM_ARCH_PROFILE) && __ARM_ARCH_PROFILE == 'M'
#define ITG_LISTED(isa_name, ...) ITG_COMPILED(isa_name, __VA_ARGS__)
#else
#define ITG_LISTED(isa_name, ...) __VA_ARGS__
#endif

// An entry of a list: a constant of type Kernel with the name <family>_<isa>. What follows are statements that set
// its other fields: `k.mr = 56; k.nr = 16`.
#define ITG_KERNEL(Kernel, kernel_family, isa_name, ...)                                       \
  ITG_LISTED(                                                                                  \
      isa_name, [] {                                                                           \
        struct Text {                                                                          \
          static constexpr ::intaglio::NameText<sizeof(#kernel_family "_" #isa_name)> text() { \
            return {#kernel_family "_" #isa_name};                                             \
          }                                                                                    \
        };                                                                                     \
        Kernel k{};                                                                            \
        k.name = ::intaglio::KernelName<Text>::kText.data;                                     \
        k.isa = ::intaglio::isa_by_name::isa_name;                                             \
        __VA_ARGS__;                                                                           \
        return k;                                                                              \
      }(), )

// The functions that a family's header declares of its list, an array: how many kernels it has, each of them, and the first that
// a machine can run.
#define ITG_KERNEL_LIST(Kernel, family, list)                                  \
  int32_t family##_count() { return int32_t{sizeof(list) / sizeof(list)[0]}; } \
  const Kernel& family##_kernel(int32_t index) { return (list)[index]; }
#define ITG_FIRST_ALLOWED(family, list) \
  int32_t family##_select(IsaMask isa) { return first_allowed(list, isa); }

namespace intaglio {

// A kernel's name, in a section of its own: a linker keeps the string literals of a file together, so a program of the source
// drop, which is few files, would hold the names of all kernels.
template <uint32_t kSize>
struct NameText {
  char data[kSize];
};
template <typename Text>
struct KernelName {
  static constexpr auto kText = Text::text();
};

// isa_by_name::avx2 is isa::kAvx2.
namespace isa_by_name {
inline constexpr IsaMask scalar = isa::kScalar;
#define ITG_ISA(name, constant, ...) inline constexpr IsaMask name = isa::constant;
#define ITG_DIGEST_ISA ITG_ISA
#include "intaglio/isa_list.inc"
#undef ITG_DIGEST_ISA
#undef ITG_ISA
}  // namespace isa_by_name

// Whether any kernel of this build reads weights in another layout than the model's. Those of a Cortex-M do
// not.
#if defined(__ARM_ARCH_PROFILE) && __ARM_ARCH_PROFILE == 'M'
inline constexpr bool kPacksWeights = false;
#else
inline constexpr bool kPacksWeights = true;
#endif

// The instruction sets that a session on this machine may choose from: cpu_isa() & kCompiledIsa.
#define ITG_ISA(name, constant, ...) | (ITG_HAVE(name) != 0 ? isa::constant : 0)
#define ITG_DIGEST_ISA ITG_ISA
inline constexpr IsaMask kCompiledIsa = isa::kScalar
#include "intaglio/isa_list.inc"
    ;
#undef ITG_DIGEST_ISA
#undef ITG_ISA

// The instruction sets of this build's lists, by which kernels are numbered.
#if defined(__ARM_ARCH_PROFILE) && __ARM_ARCH_PROFILE == 'M'
inline constexpr IsaMask kListedIsa = kCompiledIsa;
#else
inline constexpr IsaMask kListedIsa = isa::kAll;
#endif

// The place of the first kernel that `isa` allows, compiled or not, in a list with the best first and the scalar one last.
template <typename Kernel, uint32_t kCount>
static constexpr int32_t first_allowed(const Kernel (&kernels)[kCount], IsaMask isa) {
  int32_t i = 0;
  while (i < static_cast<int32_t>(kCount) - 1 && (kernels[i].isa & ~isa) != 0) ++i;
  return i;
}

}  // namespace intaglio
