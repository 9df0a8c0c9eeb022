# Programs for boards without an operating system, and programs of the build machine that prepare what they run.

# A small build for this machine, shared by all presets beside this build folder: a program
# joins it by add_dependencies(itg_native_programs NAME), and a cross build finds it under ITG_NATIVE; depend on itg_native.
if(CMAKE_CROSSCOMPILING)
  get_filename_component(ITG_NATIVE ${CMAKE_BINARY_DIR}/../native ABSOLUTE)
  add_custom_target(itg_native
    COMMAND ${CMAKE_COMMAND} -S ${PROJECT_SOURCE_DIR} -B ${ITG_NATIVE} -G ${CMAKE_GENERATOR} -DCMAKE_BUILD_TYPE=Release
            -DITG_OPENMP=OFF -DITG_HOST_TOOLS=${ITG_BOARD_MODELS} -DITG_SHARED=${ITG_SHARED}
    COMMAND ${CMAKE_COMMAND} --build ${ITG_NATIVE} --target itg_native_programs
    VERBATIM)
endif()
if(NOT ITG_BARE_METAL)
  add_custom_target(itg_native_programs)
endif()

# itg_board_program(NAME SOURCE...): with the start-up and the memory of examples/firmware; for a machine with an
# operating system, an ordinary program.
function(itg_board_program name)
  add_executable(${name} ${ARGN})
  itg_target(${name} DEVICE)
  target_link_libraries(${name} PRIVATE intaglio)
  get_target_property(definitions itg_kernels INTERFACE_COMPILE_DEFINITIONS)
  if(definitions)
    target_compile_definitions(${name} PRIVATE ${definitions})
  endif()
  if(NOT ITG_BARE_METAL)
    target_sources(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests/firmware/host_board.cc)
    return()
  endif()
  set(board ${PROJECT_SOURCE_DIR}/examples/firmware)
  target_sources(${name} PRIVATE $<TARGET_OBJECTS:firmware_board>)
  # With the C driver: nothing of the C++ library is linked.
  set_target_properties(${name} PROPERTIES SUFFIX .elf LINKER_LANGUAGE C LINK_DEPENDS ${board}/board.ld)
  target_link_options(${name} PRIVATE --specs=nano.specs -nostartfiles -T${board}/board.ld -Wl,--gc-sections
                      -Wl,--no-warn-rwx-segments)
endfunction()
