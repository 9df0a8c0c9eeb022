"""Descriptions of the source drop for package managers; scripts/amalgamate writes them."""
import json

SUMMARY = "int8 neural-network inference with a built-in calibrator"
LICENSE = "Apache-2.0"


X86 = ("avx2", "avxvnni", "avx512ymm", "avx512vnni", "shani")
ARM64 = ("neondot", "neoni8mm", "neonsha2")


def cmake(files, flags):
    listed = "\n  ".join(files)
    kernels = "".join(f"""  if(CMAKE_SYSTEM_PROCESSOR MATCHES "{machine}")
    set_property(SOURCE intaglio_{isa}.cc APPEND PROPERTY COMPILE_OPTIONS {";".join(flags[isa].split())})
    target_compile_definitions(intaglio PRIVATE ITG_HAVE_{isa.upper()}=1)
  endif()
""" for machine, isas in (("^(x86_64|AMD64)$", X86), ("^(aarch64|arm64)$", ARM64)) for isa in isas if f"intaglio_{isa}.cc" in files)
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
  # Kernels that a program chooses from when it runs.
{kernels}endif()
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
	depends on CPP && FPU
	select REQUIRES_FULL_LIBCPP
	help
	  Models run in memory that the application gives; results are the same to the bit
	  on every machine. Needs C++17 (CONFIG_STD_CPP17).
"""


def pdsc(version, files, headers):
    file_lines = "\n".join([f'        <file category="include" name="./"/>'] +
                           [f'        <file category="sourceCpp" name="{name}"/>' for name in files] +
                           [f'        <file category="header" name="{name}"/>' for name in headers])
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<package schemaVersion="1.7.7" xmlns:xs="http://www.w3.org/2001/XMLSchema-instance"
         xs:noNamespaceSchemaLocation="PACK.xsd">
  <vendor>intaglio</vendor>
  <name>intaglio</name>
  <description>{SUMMARY}</description>
  <url></url>
  <license>LICENSE</license>
  <releases>
    <release version="{version}">Source drop.</release>
  </releases>
  <conditions>
    <condition id="Cortex-M with a floating-point unit">
      <accept Dcore="Cortex-M4" Dfpu="SP_FPU"/>
      <accept Dcore="Cortex-M7" Dfpu="SP_FPU"/>
      <accept Dcore="Cortex-M7" Dfpu="DP_FPU"/>
      <accept Dcore="Cortex-M33" Dfpu="SP_FPU"/>
      <accept Dcore="Cortex-M55" Dfpu="DP_FPU"/>
      <accept Dcore="Cortex-M85" Dfpu="DP_FPU"/>
    </condition>
  </conditions>
  <components>
    <component Cclass="Machine Learning" Cgroup="Inference" Csub="intaglio" Cversion="{version}"
               condition="Cortex-M with a floating-point unit">
      <description>{SUMMARY}</description>
      <files>
{file_lines}
      </files>
    </component>
  </components>
</package>
"""


def manifests(version, files, headers, flags):
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
        "CMakeLists.txt": cmake(files, flags),
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
