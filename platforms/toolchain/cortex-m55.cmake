# Bare-metal Cortex-M55: MVE, FP32 and FP64 unit.
set(CMAKE_SYSTEM_PROCESSOR cortex-m55)
set(ITG_CPU_FLAGS "-mcpu=cortex-m55")
set(ITG_QEMU_MACHINE mps3-an547)
include(${CMAKE_CURRENT_LIST_DIR}/cortex_m.cmake)
