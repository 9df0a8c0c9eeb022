#define ITG_DOT "%{vex%} vpdpbusd"
#define ITG_KERNEL gemm_s8_avxvnni
#include "kernels/gemm/gemm_s8_ymm_vnni.h"
