# The parts of the main job that need something of the system. Where one is asked for and its needs are missing, configuring
# fails: nothing is left out but by an option. What is in and what was left out is said at the end of configuring and by
# `intaglio --version`.
option(ITG_JPEG "Read JPEG pictures; needs stb_image 2.27 or newer" ON)
# Of another machine's packages CMAKE_FIND_ROOT_PATH says where they are unpacked: else this machine's would be found.
set(webp ON)
if(CMAKE_CROSSCOMPILING AND NOT CMAKE_FIND_ROOT_PATH)
  set(webp OFF)
endif()
option(ITG_WEBP "Read WebP pictures; needs libwebp" ${webp})
option(ITG_OPENMP "Build the OpenMP executor; a board without an operating system has none" ON)

# Names what is missing and goes on, so that one try names all. Generating then fails.
function(itg_missing part needs option)
  set_property(GLOBAL PROPERTY ITG_MISSING TRUE)
  message(SEND_ERROR "intaglio: ${part} cannot be built: ${needs}. Or leave it out: cmake -D${option}=OFF, "
                     "pip install --config-settings=cmake.define.${option}=OFF")
endfunction()

# Lists of words, for people.
function(itg_parts present_variable left_out_variable)
  set(present PNG BMP)
  set(left_out)
  foreach(part IN ITEMS JPEG=ITG_JPEG WebP=ITG_WEBP OpenMP=ITG_OPENMP "Python module=ITG_PYTHON_MODULE")
    string(REPLACE "=" ";" part "${part}")
    list(GET part 0 name)
    list(GET part 1 option)
    if(${option})
      list(APPEND present ${name})
    else()
      list(APPEND left_out "${name} (${option}=OFF)")
    endif()
  endforeach()
  list(JOIN present ", " present)
  list(JOIN left_out ", " left_out)
  if(NOT left_out)
    set(left_out nothing)
  endif()
  set(${present_variable} "${present}" PARENT_SCOPE)
  set(${left_out_variable} "${left_out}" PARENT_SCOPE)
endfunction()
