#define ITG_DOT "vpdpbusd"
#define ITG_KERNEL gemm_s8_avx512ymm
#include "kernels/gemm/gemm_s8_ymm_vnni.h"
