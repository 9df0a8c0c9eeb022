#include "kernels/gemm/gemm_s8_rows_avx2.h"

#define ITG_DOT "vpdpbusd"
#include "kernels/gemm/gemm_s8_ymm_vnni.h"

namespace intaglio {

void gemm_s8_avx512ymm(const GemmS8Args& args);

void gemm_s8_avx512ymm(const GemmS8Args& args) {
  multiply_ymm_vnni(args, [&](int32_t first, const int8_t* multipliers, __m256i* sums) {
    avx2_store_rows(args, first, multipliers, sums);
  });
}

}  // namespace intaglio
