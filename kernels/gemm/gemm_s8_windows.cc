#include "kernels/gemm/gemm_s8_windows.h"

#include "kernels/compiled_isa.h"

namespace intaglio {

#define ITG_GEMM_S8_WINDOWS(isa) void gemm_s8_windows_##isa(GemmS8Args& args);
#include "kernels/gemm/gemm_s8_windows_kernels.inc"
#undef ITG_GEMM_S8_WINDOWS

GemmS8WindowsFunction* gemm_s8_windows(IsaMask isa) {
#define ITG_GEMM_S8_WINDOWS(name) \
  ITG_COMPILED(name, if (isa == isa_by_name::name) return gemm_s8_windows_##name;)
#include "kernels/gemm/gemm_s8_windows_kernels.inc"
#undef ITG_GEMM_S8_WINDOWS
  return nullptr;
}

}  // namespace intaglio
