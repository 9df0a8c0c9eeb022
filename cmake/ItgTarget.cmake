# How every target of ours is compiled.

# The address sanitizer's programs are 100 MB each, a third of it relocations, and there are hundreds: at a fixed address
# they need none, and gold links them in a fifth of the time.
set(sanitized_link)
if(ITG_SANITIZE MATCHES "address" AND NOT CMAKE_CROSSCOMPILING)
  include(CheckLinkerFlag)
  foreach(flag -no-pie -fuse-ld=gold)
    string(MAKE_C_IDENTIFIER "ITG_LINKS${flag}" works)
    check_linker_flag(CXX ${flag} ${works})
    if(${works})
      list(APPEND sanitized_link ${flag})
    endif()
  endforeach()
endif()

# A library that a shared object of ours may hold is compiled for any address.
function(itg_position_independent name)
  get_target_property(type ${name} TYPE)
  if((ITG_C_SHARED OR ITG_PYTHON_MODULE) AND NOT type STREQUAL "EXECUTABLE")
    set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  endif()
endfunction()

# itg_target(NAME [DEVICE] [LEVEL -O...]): flags of the house; DEVICE for what may be linked into firmware. LEVEL is how an
# optimized build compiles it: its text is part of what a device must hold (tests/law, size).
function(itg_target name)
  cmake_parse_arguments(arg "DEVICE" "LEVEL" "" ${ARGN})
  target_compile_features(${name} PUBLIC cxx_std_17)
  set_target_properties(${name} PROPERTIES CXX_EXTENSIONS OFF CXX_VISIBILITY_PRESET hidden
                                           VISIBILITY_INLINES_HIDDEN ON)
  itg_position_independent(${name})
  # Promise 1: the same bits everywhere. Contraction would fuse what the contract rounds twice.
  target_compile_options(${name} PRIVATE -ffp-contract=off -Wall -Wextra -Wconversion -Wshadow
                                         -ffunction-sections -fdata-sections)
  # Our FlatBuffers stands beside any other in one program.
  target_compile_definitions(${name} PRIVATE flatbuffers=itg_flatbuffers)
  # readdir() and stat() of 32-bit Linux fail at inode numbers, offsets and sizes beyond 32 bits without it.
  if(CMAKE_SIZEOF_VOID_P EQUAL 4 AND CMAKE_SYSTEM_NAME STREQUAL "Linux")
    target_compile_definitions(${name} PRIVATE _FILE_OFFSET_BITS=64)
  endif()
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  if(arg_DEVICE)
    target_compile_options(${name} PRIVATE -fno-exceptions -fno-rtti -fno-threadsafe-statics
                                           -fno-asynchronous-unwind-tables -fno-math-errno
                                           # Nobody reads exception flags: selects of floats may be vectorised.
                                           -fno-trapping-math)
    # gas takes `vcvtne.f32.s32`, a conversion made conditional, for an instruction of Helium and refuses it.
    if("helium" IN_LIST ITG_KERNELS AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      target_compile_options(${name} PRIVATE -fno-if-conversion2)
    endif()
  endif()
  if(arg_LEVEL)
    target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:${arg_LEVEL}>)
  endif()
  if(ITG_SANITIZE)
    # vptr asks for type information, which what may be linked into firmware does not have.
    target_compile_options(${name} PRIVATE -fsanitize=${ITG_SANITIZE} -fno-sanitize=vptr -fno-sanitize-recover=all
                                           -fno-omit-frame-pointer)
    # Compiling is most of such a build's time; what computes is optimized as ever, and what a fuzzer repeats. Half of that
    # time goes into checks of each pointer: a null one the address sanitizer sees, too, and the fuzzers have both.
    if(NOT ITG_FUZZ AND NOT arg_DEVICE)
      target_compile_options(${name} PRIVATE -O0 -fno-sanitize=null,alignment)
    endif()
    target_link_options(${name} PUBLIC -fsanitize=${ITG_SANITIZE} ${sanitized_link})
    if(ITG_SANITIZE MATCHES "memory")
      # What Debian's libstdc++ and pugixml write was compiled without this sanitizer: libstdc++'s templates are compiled
      # with the program, and the headers that rely on other code of both are believed.
      target_compile_options(${name} PRIVATE
        -fsanitize-memory-param-retval -fsanitize-ignorelist=${PROJECT_SOURCE_DIR}/cmake/msan_believed.txt
        $<$<COMPILE_LANGUAGE:CXX>:SHELL:-include ${PROJECT_SOURCE_DIR}/cmake/msan_templates.h>)
      # Where an unwritten value came from. A fuzzer does without: it runs four times as fast so, and a finding can be run again.
      if(NOT ITG_FUZZ)
        target_compile_options(${name} PRIVATE -fsanitize-memory-track-origins)
      endif()
    endif()
  endif()
endfunction()

# itg_precompile(NAME HEADER...): headers that most of its files include are parsed once for all of them.
function(itg_precompile name)
  if(ITG_PRECOMPILE)
    list(TRANSFORM ARGN PREPEND ${PROJECT_SOURCE_DIR}/ REGEX "^[^<]")
    target_precompile_headers(${name} PRIVATE ${ARGN})
  endif()
endfunction()

# itg_unity(NAME FILES): compiles up to so many files of a folder as one, since headers are most of what a host target's compiler
# reads. Names of a file's own are therefore its folder's own. A file with options of its own stays alone. Device libraries stay
# file by file: a linker leaves out the objects that a firmware does not call.
function(itg_unity name files)
  if(NOT ITG_UNITY)
    return()
  endif()
  set_target_properties(${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  get_target_property(sources ${name} SOURCES)
  foreach(source IN LISTS sources)
    get_filename_component(folder ${source} DIRECTORY)
    string(MAKE_C_IDENTIFIER "${folder}" folder)
    math(EXPR part "0${in_${folder}} / ${files}")
    math(EXPR in_${folder} "0${in_${folder}} + 1")
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP "${folder}_${part}")
  endforeach()
endfunction()
