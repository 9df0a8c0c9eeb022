# Bare-metal Cortex-M4 with its FP32 unit; doubles are software.
set(CMAKE_SYSTEM_PROCESSOR cortex-m4)
set(ITG_CPU_FLAGS "-mcpu=cortex-m4 -mfpu=fpv4-sp-d16")
set(ITG_QEMU_MACHINE mps2-an386)
include(${CMAKE_CURRENT_LIST_DIR}/cortex_m.cmake)
