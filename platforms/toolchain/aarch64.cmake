# AArch64 Linux, from Debian's cross compiler; its programs run under qemu-user (scripts/setup --cross).
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(ITG_TRIPLE aarch64-linux-gnu)
set(ITG_QEMU qemu-aarch64)
include(${CMAKE_CURRENT_LIST_DIR}/linux_gnu.cmake)
