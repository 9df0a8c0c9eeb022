# Bare-metal Cortex-M0+: the instructions of ARMv6-M, no floating-point unit. Scalar kernels. qemu's boards with such a core
# hold no whole network; its Cortex-M3 executes the same instructions.
set(CMAKE_SYSTEM_PROCESSOR cortex-m0plus)
set(ITG_CPU_FLAGS "-mcpu=cortex-m0plus")
set(ITG_FLOAT_ABI soft)
set(ITG_QEMU_MACHINE mps2-an385)
include(${CMAKE_CURRENT_LIST_DIR}/cortex_m.cmake)
