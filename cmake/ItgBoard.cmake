# Programs for boards without an operating system, and programs of the build machine that prepare what they run.

# Programs of the build machine: one joins them by add_dependencies(itg_native_programs NAME), and a cross build finds it under
# ITG_NATIVE; depend on itg_native. They come from a build of this machine that stands already, or from a small one that all
# presets share.
if(CMAKE_CROSSCOMPILING)
  set(ITG_NATIVE_BUILD "$ENV{INTAGLIO_NATIVE_BUILD}" CACHE PATH
      "A configured build for this machine, e.g. the preset host's; empty: one is made beside this one")
  set(ITG_NATIVE ${ITG_NATIVE_BUILD})
  set(configure_native ${CMAKE_COMMAND} -E true)
  if(NOT ITG_NATIVE)
    get_filename_component(ITG_NATIVE ${CMAKE_BINARY_DIR}/../native ABSOLUTE)
    set(configure_native
        ${CMAKE_COMMAND} -S ${PROJECT_SOURCE_DIR} -B ${ITG_NATIVE} -G ${CMAKE_GENERATOR} -DCMAKE_BUILD_TYPE=Release
        -DITG_OPENMP=OFF -DITG_C_SHARED=OFF -DITG_PYTHON_MODULE=OFF -DITG_HOST_TOOLS=${ITG_BOARD_MODELS} -DITG_SHARED=${ITG_SHARED})
  endif()
  add_custom_target(itg_native
    COMMAND ${configure_native}
    COMMAND ${CMAKE_COMMAND} --build ${ITG_NATIVE} --target itg_native_programs
    VERBATIM)
endif()
if(NOT ITG_BARE_METAL)
  add_custom_target(itg_native_programs)
endif()

# The runtime with its C interface once more, for programs that run rows through line buffers: a board's build has that only
# where it is asked for.
if(ITG_BARE_METAL)
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/runtime/*.cc ${PROJECT_SOURCE_DIR}/runtime/ops/*.cc
       ${PROJECT_SOURCE_DIR}/runtime/streaming/*.cc ${PROJECT_SOURCE_DIR}/c_api/*.cc)
  list(FILTER sources EXCLUDE REGEX "/c_(openmp|calibrator)\\.cc$")
  add_library(intaglio_by_rows STATIC EXCLUDE_FROM_ALL ${sources} ${ITG_KERNEL_OBJECTS} ${ITG_PLATFORM_OBJECTS})
  itg_target(intaglio_by_rows DEVICE)
  target_include_directories(intaglio_by_rows PUBLIC
    ${PROJECT_SOURCE_DIR}/runtime/include ${PROJECT_SOURCE_DIR}/platforms/include ${PROJECT_SOURCE_DIR}/kernels/include
    ${PROJECT_SOURCE_DIR}/c_api/include PRIVATE ${PROJECT_SOURCE_DIR}/calibrator/include)
  target_link_libraries(intaglio_by_rows PRIVATE itg_schema)
  get_target_property(definitions itg_kernels INTERFACE_COMPILE_DEFINITIONS)
  if(ITG_STREAMING STREQUAL "")
    list(APPEND definitions ITG_STREAMING=1)
  endif()
  target_compile_definitions(intaglio_by_rows PRIVATE ${definitions})
endif()

# itg_board_program(NAME [BY_ROWS] [LINKER_SCRIPT FILE] SOURCE...): with the start-up and the memory of examples/firmware; for a
# machine with an operating system, an ordinary program. BY_ROWS: with intaglio_by_rows.
function(itg_board_program name)
  cmake_parse_arguments(arg "BY_ROWS" "LINKER_SCRIPT" "" ${ARGN})
  add_executable(${name} ${arg_UNPARSED_ARGUMENTS})
  itg_target(${name} DEVICE)
  if(arg_BY_ROWS)
    target_link_libraries(${name} PRIVATE intaglio_by_rows)
  else()
    target_link_libraries(${name} PRIVATE intaglio)
  endif()
  get_target_property(definitions itg_kernels INTERFACE_COMPILE_DEFINITIONS)
  if(definitions)
    target_compile_definitions(${name} PRIVATE ${definitions})
  endif()
  if(NOT ITG_BARE_METAL)
    target_sources(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests/firmware/host_board.cc)
    return()
  endif()
  set(script ${PROJECT_SOURCE_DIR}/examples/firmware/board.ld)
  if(arg_LINKER_SCRIPT)
    set(script ${arg_LINKER_SCRIPT})
  endif()
  target_sources(${name} PRIVATE $<TARGET_OBJECTS:firmware_board>)
  # With the C driver: nothing of the C++ library is linked.
  set_target_properties(${name} PROPERTIES SUFFIX .elf LINKER_LANGUAGE C LINK_DEPENDS ${script})
  target_link_options(${name} PRIVATE --specs=nano.specs -nostartfiles -T${script} -Wl,--gc-sections
                      -Wl,--no-warn-rwx-segments)
endfunction()
