# Which instruction sets have kernels in this build (ITG_KERNELS), all that there are (ITG_KNOWN_ISAS), and the flags of each
# (ITG_FLAGS_<isa>). A file named *_<isa>.cc is compiled with the flags of <isa>.
set(_itg_list ${CMAKE_CURRENT_LIST_DIR}/../kernels/include/intaglio/isa_list.inc)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${_itg_list})
file(READ ${_itg_list} _itg_text)
string(REGEX REPLACE "//[^\n]*" "" _itg_text "${_itg_text}")
string(REGEX REPLACE "\n +" " " _itg_text "${_itg_text}")
string(REGEX MATCHALL "ITG_(DIGEST_)?ISA\\([^\n]*" _itg_entries "${_itg_text}")

set(_itg_isas)
set(ITG_KNOWN_ISAS)
foreach(_itg_entry IN LISTS _itg_entries)
  if(NOT _itg_entry MATCHES "ISA\\(([a-z0-9]+), k[A-Za-z0-9]+, [0-9]+, \"[^\"]*\", \"([^\"]*)\",")
    message(FATAL_ERROR "isa_list.inc: not understood: ${_itg_entry}")
  endif()
  set(_itg_isa ${CMAKE_MATCH_1})
  set(_itg_processors "^(${CMAKE_MATCH_2})$")
  list(APPEND ITG_KNOWN_ISAS ${_itg_isa})
  # An ARMv7 may have no NEON; those of Linux are taken to.
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "${_itg_processors}"
     AND (CMAKE_SYSTEM_NAME STREQUAL "Linux" OR NOT CMAKE_SYSTEM_PROCESSOR MATCHES "^armv7"))
    list(APPEND _itg_isas ${_itg_isa})
  endif()
  set(ITG_FLAGS_${_itg_isa})
  if(_itg_entry MATCHES " flags\\(\"([^\"]*)\"\\)")
    separate_arguments(ITG_FLAGS_${_itg_isa} UNIX_COMMAND "${CMAKE_MATCH_1}")
  endif()
  if(_itg_entry MATCHES " gcc_flags\\(\"([^\"]*)\"\\)" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU"
     AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 12)
    separate_arguments(_itg_flags UNIX_COMMAND "${CMAKE_MATCH_1}")
    list(APPEND ITG_FLAGS_${_itg_isa} ${_itg_flags})
  endif()
  # Kernels are fast where everything else is small.
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "^cortex-m")
    list(APPEND ITG_FLAGS_${_itg_isa} -O2)
  endif()
endforeach()
set(ITG_KERNELS "${_itg_isas}" CACHE STRING "ISAs with kernels of their own, beside scalar")
