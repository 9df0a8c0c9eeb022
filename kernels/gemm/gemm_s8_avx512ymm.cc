#include "kernels/gemm/gemm_s8_rows_avx2.h"

#define ITG_DOT "vpdpbusd"
#define ITG_KERNEL gemm_s8_avx512ymm
#define ITG_ARGS GemmS8Args
#define ITG_STORE avx2_store_rows
#include "kernels/gemm/gemm_s8_ymm_vnni.h"
