# What the bare-metal Cortex-M toolchain files share: ITG_CPU_FLAGS names the core, ITG_QEMU_MACHINE a board of
# qemu-system-arm that has it (scripts/setup --bare-metal).
set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
set(CMAKE_C_COMPILER arm-none-eabi-gcc)
set(CMAKE_CXX_COMPILER arm-none-eabi-g++)
if(NOT DEFINED ITG_FLOAT_ABI)
  set(ITG_FLOAT_ABI hard)
endif()
set(CMAKE_C_FLAGS_INIT "-mthumb ${ITG_CPU_FLAGS} -mfloat-abi=${ITG_FLOAT_ABI}")
set(CMAKE_CXX_FLAGS_INIT "-mthumb ${ITG_CPU_FLAGS} -mfloat-abi=${ITG_FLOAT_ABI}")
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-system-arm -M ${ITG_QEMU_MACHINE} -display none -monitor none -serial none
    -semihosting-config enable=on,target=native -kernel)
