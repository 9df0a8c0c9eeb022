#include "kernels/gemm/gemm_s8_rows_avx2.h"

#define ITG_DOT "%{vex%} vpdpbusd"
#define ITG_KERNEL gemm_s8_f32_avxvnni
#define ITG_ARGS GemmS8F32Args
#define ITG_STORE avx2_store_reals
#include "kernels/gemm/gemm_s8_ymm_vnni.h"
