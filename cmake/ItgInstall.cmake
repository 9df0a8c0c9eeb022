# cmake --install: archives, public headers, the CMake package with its components, pkg-config files, the command.
include(CMakePackageConfigHelpers)
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/intaglio)
# Builds what `cmake --install` copies, without tests and benchmarks.
add_custom_target(intaglio_installed)

# itg_install(TARGET COMPONENT HEADERS...): as intaglio::COMPONENT; the content of each headers folder.
function(itg_install target component)
  if(NOT TARGET ${target})
    return()
  endif()
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${component})
  add_dependencies(intaglio_installed ${target})
  install(TARGETS ${target} EXPORT intaglio ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
          LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  foreach(folder IN LISTS ARGN)
    install(DIRECTORY ${PROJECT_SOURCE_DIR}/${folder}/include/intaglio DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  endforeach()
endfunction()
itg_install(intaglio intaglio kernels platforms runtime)
itg_install(intaglio_calibrator calibrator calibrator)
itg_install(intaglio_c c c_api)
itg_install(intaglio_c_runtime c_runtime)
itg_install(intaglio_c_shared c_shared)
itg_install(intaglio_openmp openmp)
itg_install(intaglio_host host)
if(TARGET intaglio_host)  # its headers are named from the repository's root, as in the sources
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/calibrator/host DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/intaglio_host/calibrator
          FILES_MATCHING PATTERN "*.h")
  foreach(header workspace/arena.h observe/digest.h)
    get_filename_component(folder ${header} DIRECTORY)
    install(FILES ${PROJECT_SOURCE_DIR}/calibrator/${header}
            DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/intaglio_host/calibrator/${folder})
  endforeach()
endif()
if(TARGET intaglio_cli)
  install(TARGETS intaglio_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  add_dependencies(intaglio_installed intaglio_cli)
  if(TARGET intaglio_command_pages)  # man pages, completion of bash, zsh and fish
    install(DIRECTORY ${PROJECT_BINARY_DIR}/cli/pages/share/ DESTINATION ${CMAKE_INSTALL_DATADIR})
    add_dependencies(intaglio_installed intaglio_command_pages)
  endif()
endif()

install(EXPORT intaglio NAMESPACE intaglio:: FILE intaglioTargets.cmake DESTINATION ${package})
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/intaglioConfig.cmake.in intaglioConfig.cmake
                              INSTALL_DESTINATION ${package})
write_basic_package_version_file(intaglioConfigVersion.cmake COMPATIBILITY SameMajorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/intaglioConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/intaglioConfigVersion.cmake
        DESTINATION ${package})

# itg_pkg_config(NAME LIBRARIES DESCRIPTION): finds its own place, so that a tree can be moved.
function(itg_pkg_config name libraries description)
  set(flags "${ARGN}")
  file(RELATIVE_PATH prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/intaglio.pc.in ${PROJECT_BINARY_DIR}/${name}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endfunction()
itg_pkg_config(intaglio "-lintaglio" "int8 inference")
if(TARGET intaglio_host)
  set(webp "")
  if(ITG_HAVE_WEBP)
    set(webp " -lwebp")
  endif()
  itg_pkg_config(intaglio-host "-lintaglio_host -lintaglio_calibrator -lintaglio${webp}" "pictures, arrays and files for intaglio"
                 " -I\${includedir}/intaglio_host")
endif()
itg_pkg_config(intaglio-calibrator "-lintaglio_calibrator -lintaglio" "int8 inference and calibration")
# The calibrator's writer of models has a virtual destructor, which names operator delete.
# Without its full name a linker would take the shared library that may stand beside it.
itg_pkg_config(intaglio-c "-l:libintaglio_c.a -lintaglio_calibrator -lintaglio -lstdc++" "int8 inference and calibration, for C")
itg_pkg_config(intaglio-c-runtime "-lintaglio_c_runtime -lintaglio" "int8 inference, for C")
if(ITG_C_SHARED)
  itg_pkg_config(intaglio-c-shared "-lintaglio_c" "int8 inference and calibration, for C, as a shared library")
endif()
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
