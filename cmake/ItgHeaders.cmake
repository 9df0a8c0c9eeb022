# Third-party headers of the device side come from the build machine's packages, also when cross-compiling:
# each is linked into a folder of the build tree, so that no other header of the build machine leaks in.
set(ITG_HOST_INCLUDE ${PROJECT_BINARY_DIR}/host_include)
file(MAKE_DIRECTORY ${ITG_HOST_INCLUDE})

find_path(ITG_FLATBUFFERS_INCLUDE flatbuffers/flatbuffers.h HINTS /usr/include NO_CMAKE_FIND_ROOT_PATH)
find_program(ITG_FLATC flatc NO_CMAKE_FIND_ROOT_PATH)
if(NOT ITG_FLATBUFFERS_INCLUDE OR NOT ITG_FLATC)
  message(FATAL_ERROR "FlatBuffers is missing: install libflatbuffers-dev and flatbuffers-compiler "
                      "(scripts/setup does it)")
endif()
file(CREATE_LINK ${ITG_FLATBUFFERS_INCLUDE}/flatbuffers ${ITG_HOST_INCLUDE}/flatbuffers SYMBOLIC)
