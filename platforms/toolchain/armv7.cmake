# ARMv7-A Linux with NEON and VFPv4, hard float, from Debian's cross compiler; its programs run under qemu-user
# (scripts/setup --cross). VFPv4 because FP32 needs the fused multiply-add; from Cortex-A7 on CPUs have it.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR armv7l)
set(ITG_TRIPLE arm-linux-gnueabihf)
set(ITG_QEMU qemu-arm)
set(CMAKE_C_FLAGS_INIT "-march=armv7-a -mfpu=neon-vfpv4 -mfloat-abi=hard -Wno-psabi")
set(CMAKE_CXX_FLAGS_INIT "-march=armv7-a -mfpu=neon-vfpv4 -mfloat-abi=hard -Wno-psabi")
include(${CMAKE_CURRENT_LIST_DIR}/linux_gnu.cmake)
