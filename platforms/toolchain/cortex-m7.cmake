# Bare-metal Cortex-M7 with its FP64 unit.
set(CMAKE_SYSTEM_PROCESSOR cortex-m7)
set(ITG_CPU_FLAGS "-mcpu=cortex-m7")
set(ITG_QEMU_MACHINE mps2-an500)
include(${CMAKE_CURRENT_LIST_DIR}/cortex_m.cmake)
