"""Descriptions of the source drop for package managers; scripts/amalgamate writes them."""
import json
import pathlib

import isa_list

SUMMARY = "int8 neural-network inference with a built-in calibrator"
LICENSE = "Apache-2.0"


def cmake(files, isas):
    listed = "\n  ".join(files)
    kernels = "".join(f"""  itg_kernel_flags({isa.name} "{isa.target}"
                   "{isa.given}"
                   "{isa.flags}" "{isa.gcc_flags}")
""" for isa in isas if f"intaglio_{isa.name}.cc" in files)
    return f"""# The source drop as an ESP-IDF component, or as a library for add_subdirectory.
cmake_minimum_required(VERSION 3.16)
set(sources
  {listed})
if(ESP_PLATFORM)
  idf_component_register(SRCS ${{sources}} INCLUDE_DIRS .)
  target_compile_features(${{COMPONENT_LIB}} PUBLIC cxx_std_17)
else()
  project(intaglio LANGUAGES CXX)
  add_library(intaglio STATIC ${{sources}})
  target_compile_features(intaglio PUBLIC cxx_std_17)
  target_include_directories(intaglio PUBLIC ${{CMAKE_CURRENT_SOURCE_DIR}})
  foreach(name intaglio calibrator c)
    add_library(intaglio::${{name}} ALIAS intaglio)
  endforeach()
  target_compile_options(intaglio PRIVATE -ffp-contract=off)
  # Kernels that a program chooses from when it runs.
  include(${{CMAKE_CURRENT_SOURCE_DIR}}/ItgKernelFlags.cmake)
  set(itg_isas)
  set(itg_left_out)
{kernels}  foreach(isa IN LISTS itg_isas)
    set_property(SOURCE intaglio_${{isa}}.cc APPEND PROPERTY COMPILE_OPTIONS ${{ITG_FLAGS_${{isa}}}})
    target_compile_definitions(intaglio PRIVATE ITG_HAVE_${{isa}}=1)
  endforeach()
  itg_say_kernels(${{itg_isas}})
endif()
"""


def zephyr_cmake(files):
    listed = "\n    ".join(f"../{name}" for name in files)
    return f"""if(CONFIG_INTAGLIO)
  zephyr_library_named(intaglio)
  zephyr_library_sources(
    {listed})
  zephyr_include_directories(..)
endif()
"""


KCONFIG = """config INTAGLIO
	bool "intaglio: int8 neural-network inference with a built-in calibrator"
	depends on CPP
	select REQUIRES_FULL_LIBCPP
	help
	  Models run in memory that the application gives; results are the same to the bit
	  on every machine. Needs C++17 (CONFIG_STD_CPP17). Runs without a floating-point
	  unit too: int8 models need few floating-point operations, FP32 models many.
"""


def pdsc(version, files, headers):
    file_lines = "\n".join([f'        <file category="include" name="./"/>'] +
                           [f'        <file category="sourceCpp" name="{name}"/>' for name in files] +
                           [f'        <file category="header" name="{name}"/>' for name in headers])
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<package schemaVersion="1.7.7">
  <vendor>intaglio</vendor>
  <name>intaglio</name>
  <description>{SUMMARY}</description>
  <url></url>
  <license>LICENSE</license>
  <releases>
    <release version="{version}">Source drop.</release>
  </releases>
  <components>
    <component Cclass="Machine Learning" Cgroup="Inference" Csub="intaglio" Cversion="{version}">
      <description>{SUMMARY}</description>
      <files>
{file_lines}
      </files>
    </component>
  </components>
</package>
"""


def readme(version, isas):
    rows = "\n".join(f"| `intaglio_{isa.name}.cc` | {isa_list.flags_in_words(isa.flags)} |" for isa in isas if isa.flags)
    return f"""# intaglio {version}: the source drop

{SUMMARY[0].upper()}{SUMMARY[1:]}, as sources for any compiler of C++17. Nothing else
is needed: no heap, no exceptions, no library but `memcpy` and its like. Programs in C take `intaglio/c_api.h`, programs in
C++ `intaglio.h` or its parts in `intaglio/`.

| file | holds |
| --- | --- |
| `intaglio.cc` | runtime, C interface, scalar kernels |
| `intaglio_calibrator.cc` | the calibrator; a program that does not calibrate may leave it out |
| `intaglio_describe.cc` | the texts of errors and names (`describe`, `itg_describe`); likewise |
| `intaglio_<isa>.cc` | kernels of one instruction set; empty where the compiler's flags do not have it |
| `CMakeLists.txt`, `ItgKernelFlags.cmake` | a library for `add_subdirectory`, and an ESP-IDF component |
| `zephyr/`, `library.json`, `library.properties`, `src/`, `intaglio.pdsc` | Zephyr, PlatformIO, Arduino, CMSIS-Pack |
| `examples/classify.cc` | a model and a picture to a class, on a machine with files; `examples/example_session.h` is its helper |

## Flags

    arm-none-eabi-g++ -std=c++17 -Os -mthumb -mcpu=cortex-m4 -mfpu=fpv4-sp-d16 -mfloat-abi=hard \\
      -ffunction-sections -fdata-sections -fno-exceptions -fno-rtti -I<this folder> -c *.cc
    arm-none-eabi-gcc ... *.o -Wl,--gc-sections

- C++17 or later, the same flags for every file. `-ffunction-sections -fdata-sections` and `--gc-sections` keep what the program
  does not use out of it. `-fno-exceptions -fno-rtti` are not needed, but nothing here uses either.
- `-Os`, `-O2` or `-O3`: results are the same bits with each. `-ffast-math` and its parts are refused, and so is x87
  arithmetic: on x86 of 32 bits compile with `-msse2 -mfpmath=sse`. With clang leave `-ffp-contract=fast` out: it shows in no macro.
- `NDEBUG` makes no difference: there is no `assert`. What a model file holds is checked in every build.
- A floating-point unit is not needed. Without one the scaling of each output is computed by the compiler's library: int8
  models run slower, FP32 models much slower. The results are the same bits.
- On x86-64 and ARM Linux kernels may be chosen when the program runs: `CMakeLists.txt` asks the compiler which it can make. It
  compiles each such file with its flags and all files with `-DITG_HAVE_<isa>=1`, and names what it leaves out. With plain flags
  the kernels are those that the flags allow. On an ARM of 32 bits, such as Raspberry Pi OS and Debian armhf, plain flags allow none.

| file | flags |
| --- | --- |
{rows}

## A model in firmware

    intaglio export-c net.int8.itg -o net --target cortex-m4 [--planned]

writes a model as sources: the constant array, the operators that it needs, its exact memory, a self-test and a sample
`main.c`. Compile `net/net_model.cc`, `net/net_model_data.c` and your program with the files here:

```c
#include "net_model.h"

static uint8_t memory[NET_MEMORY_BYTES] __attribute__((aligned(ITG_MEMORY_ALIGNMENT)));

int main(void) {{
  itg_model model;
  itg_session session;
  if (net_start(&model, &session, memory).status != ITG_kOk) return 1;
  net_input_0_element* input = (net_input_0_element*)itg_session_input_data(&session, 0);
  for (int i = 0; i < NET_INPUT_0_ELEMENTS; ++i) input[i] = 0; /* your values */
  itg_session_run(&session);
  const net_output_0_element* output = (const net_output_0_element*)itg_session_output_data(&session, 0);
  return output[0] > 0;
}}
```

How long a run takes on the board, from Cortex-M3 on (names of CMSIS): set `CoreDebug->DEMCR |= CoreDebug_DEMCR_TRCENA_Msk` and
`DWT->CTRL |= DWT_CTRL_CYCCNTENA_Msk` once. Then read `DWT->CYCCNT` before and after `itg_session_run()`. The difference is the cycles
of the core, flash included. Take the second run, and switch interrupts off.

The comments of the headers say the rest. Apache License 2.0, see LICENSE.
"""


def manifests(version, files, headers, isas):
    """{path: text}."""
    library = {
        "name": "intaglio", "version": version, "description": SUMMARY, "license": LICENSE,
        "keywords": ["neural network", "inference", "int8", "quantization"],
        "frameworks": "*", "platforms": "*", "headers": "intaglio.h",
        "build": {"srcDir": ".", "includeDir": ".", "flags": ["-std=gnu++17"],
                  "srcFilter": ["-<*>"] + [f"+<{name}>" for name in files]},
    }
    properties = {
        "name": "intaglio", "version": version, "author": "intaglio", "maintainer": "intaglio",
        "sentence": f"{SUMMARY}.", "paragraph": "Runs and calibrates int8 models with the same bits on every machine.",
        "category": "Data Processing", "url": "", "architectures": "*", "includes": "intaglio.h",
    }
    texts = {
        "README.md": readme(version, isas),
        "CMakeLists.txt": cmake(files, isas),
        "ItgKernelFlags.cmake": (pathlib.Path(__file__).resolve().parent.parent / "cmake/ItgKernelFlags.cmake").read_text(encoding="utf-8"),
        "zephyr/module.yml": "name: intaglio\nbuild:\n  cmake: zephyr\n  kconfig: zephyr/Kconfig\n",
        "zephyr/CMakeLists.txt": zephyr_cmake(files),
        "zephyr/Kconfig": KCONFIG,
        "idf_component.yml": f'version: "{version}"\ndescription: {SUMMARY}\nlicense: {LICENSE}\n'
                             'dependencies:\n  idf:\n    version: ">=5.0"\n',
        "library.json": json.dumps(library, indent=2) + "\n",
        "library.properties": "".join(f"{key}={value}\n" for key, value in properties.items()),
        "intaglio.pdsc": pdsc(version, files, headers),
        # Arduino compiles the folder src alone.
        "src/intaglio.h": '#include "../intaglio.h"\n',
    }
    for name in files:
        texts[f"src/{name[:-3]}.cpp"] = f'#include "../{name}"\n'
    return texts
