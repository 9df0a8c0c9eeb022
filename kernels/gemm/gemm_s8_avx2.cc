#include "kernels/gemm/gemm_s8_panels_avx2.h"
#include "kernels/gemm/gemm_s8_rows_avx2.h"

namespace intaglio {

void gemm_s8_avx2(const GemmS8Args& args);

void gemm_s8_avx2(const GemmS8Args& args) {
  multiply_panels(args, [&](int32_t first, const int8_t* multipliers, __m256i* sums) {
    avx2_store_rows(args, first, multipliers, sums);
  });
}

}  // namespace intaglio
