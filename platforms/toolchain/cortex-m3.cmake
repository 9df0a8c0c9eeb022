# Bare-metal Cortex-M3: no DSP extension, no floating-point unit. Scalar kernels.
set(CMAKE_SYSTEM_PROCESSOR cortex-m3)
set(ITG_CPU_FLAGS "-mcpu=cortex-m3")
set(ITG_FLOAT_ABI soft)
set(ITG_QEMU_MACHINE mps2-an385)
include(${CMAKE_CURRENT_LIST_DIR}/cortex_m.cmake)
