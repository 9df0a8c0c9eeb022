# Which ISAs have kernels in this build, and the flags of each. A file named *_<isa>.cc is compiled with
# the flags of <isa>, so a new kernel needs no edit here.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
  set(_itg_isas avx2 avxvnni avx512ymm avx512vnni)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
  set(_itg_isas neon neondot neoni8mm)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^armv7" AND CMAKE_SYSTEM_NAME STREQUAL "Linux")
  set(_itg_isas neon)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^cortex-m(55|85)$")
  set(_itg_isas helium)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^cortex-m(4|7|33|35p)$")
  set(_itg_isas dsp)
else()
  set(_itg_isas "")
endif()
set(ITG_KERNELS "${_itg_isas}" CACHE STRING "ISAs with kernels of their own, beside scalar")

set(ITG_FLAGS_avx2 -mavx2 -mfma -mpclmul)
set(ITG_FLAGS_avxvnni -mavx2 -mfma -mavxvnni)
set(ITG_FLAGS_avx512ymm -mavx2 -mfma -mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx512vnni
    -mprefer-vector-width=256)
set(ITG_FLAGS_avx512vnni ${ITG_FLAGS_avx512ymm} -mprefer-vector-width=512)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # gcc's own header has `__m512 y = y` (bug 105593).
  list(APPEND ITG_FLAGS_avx512ymm -mmove-max=256 -mstore-max=256)
  list(APPEND ITG_FLAGS_avx512vnni -Wno-uninitialized -Wno-maybe-uninitialized)
endif()
# gcc's scheduler before register allocation lengthens lives until accumulators spill: the order of the source stays.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set(_itg_order -fno-schedule-insns)
endif()
set(ITG_FLAGS_neon ${_itg_order})
set(ITG_FLAGS_neondot -march=armv8.2-a+dotprod ${_itg_order})
set(ITG_FLAGS_neoni8mm -march=armv8.2-a+dotprod+i8mm ${_itg_order})
# Kernels are fast where everything else is small.
set(ITG_FLAGS_dsp -O2)
set(ITG_FLAGS_helium -O2)
set(ITG_KNOWN_ISAS avx2 avxvnni avx512ymm avx512vnni neon neondot neoni8mm dsp helium)
