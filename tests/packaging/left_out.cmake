# Whether configuring fails where a part is asked for and its needs are missing, names each, and names what an option leaves out.
# Variables: SOURCE, FOLDER, SETTINGS. What is missing here: stb_image, too old for JPEG, and libwebp.
cmake_minimum_required(VERSION 3.22)
file(REMOVE_RECURSE ${FOLDER})
file(WRITE ${FOLDER}/stb/stb_image.h "/* stb_image - v2.26 - public domain image loader */\n")
function(configure)
  execute_process(COMMAND ${CMAKE_COMMAND} -S ${SOURCE} -B ${FOLDER}/build ${SETTINGS} -DITG_DEVELOPER=OFF -DITG_PYTHON_MODULE=ON
                          -DITG_STB_INCLUDE=${FOLDER}/stb -DITG_WEBP_LIBRARY= ${ARGN}
                  RESULT_VARIABLE failed OUTPUT_VARIABLE text ERROR_VARIABLE text)
  string(REGEX REPLACE "[ \n]+" " " text "${text}")
  set(failed ${failed} PARENT_SCOPE)
  set(text "${text}" PARENT_SCOPE)
endfunction()
function(says words)
  string(FIND "${text}" "${words}" at)
  if(at EQUAL -1)
    message(FATAL_ERROR "'${words}' is not in: ${text}")
  endif()
endfunction()

configure()
if(NOT failed OR text MATCHES "is built with")
  message(FATAL_ERROR "configured without what it needs: ${text}")
endif()
says("JPEG cannot be built: ${FOLDER}/stb/stb_image.h is version 2.26")
says("cmake -DITG_JPEG=OFF, pip install --config-settings=cmake.define.ITG_JPEG=OFF")
says("WebP cannot be built: install libwebp-dev")

configure(-DITG_JPEG=OFF -DITG_WEBP=OFF -DITG_OPENMP=OFF)
if(failed)
  message(FATAL_ERROR "not configured: ${text}")
endif()
says("is built with: PNG, BMP, Python module --")
says("leaves out: JPEG (ITG_JPEG=OFF), WebP (ITG_WEBP=OFF), OpenMP (ITG_OPENMP=OFF) --")
