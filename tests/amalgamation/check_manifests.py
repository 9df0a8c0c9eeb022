#!/usr/bin/env python3
"""Checks the descriptions that the source drop holds for package managers, as far as it can be done without them: they
parse, every file that they name is there, every source is named, and the CMake parts configure with stubs.

  check_manifests.py DROP CMAKE
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

drop, cmake = pathlib.Path(sys.argv[1]), sys.argv[2]
failures = []
sources = {p.name for p in drop.glob("*.cc")}
version = re.search(r'ITG_VERSION "(.*)"', (drop / "intaglio/version.h").read_text()).group(1)


def expect(condition, text):
    if not condition:
        failures.append(text)


def expect_sources(named, where):
    expect(set(named) == sources, f"{where}: names {sorted(named)}, there are {sorted(sources)}")


def configure(name, text, folder):
    """Configures a project whose CMakeLists.txt is `text`; gives what it printed."""
    with tempfile.TemporaryDirectory() as work:
        pathlib.Path(work, "CMakeLists.txt").write_text(text.replace("@DROP@", folder.as_posix()), encoding="utf-8")
        done = subprocess.run([cmake, "-S", work, "-B", work + "/build"], capture_output=True, text=True)
    expect(done.returncode == 0, f"{name}: {done.stderr}")
    return done.stderr + done.stdout


# PlatformIO
library = json.loads((drop / "library.json").read_text())
expect(library["version"] == version, "library.json: another version")
expect((drop / library["headers"]).is_file(), "library.json: the header is missing")
expect_sources([f[2:-1] for f in library["build"]["srcFilter"] if f.startswith("+<")], "library.json")

# Arduino
properties = dict(line.split("=", 1) for line in (drop / "library.properties").read_text().splitlines())
needed = {"name", "version", "author", "maintainer", "sentence", "paragraph", "category", "url", "architectures"}
expect(needed <= set(properties), f"library.properties: lacks {needed - set(properties)}")
expect(properties["version"] == version, "library.properties: another version")
expect((drop / "src" / properties["includes"]).is_file(), "library.properties: the header is missing")
forwarded = [re.fullmatch(r'#include "\.\./(.*)"\n', p.read_text()).group(1) for p in (drop / "src").glob("*.cpp")]
expect_sources(forwarded, "src")

# CMSIS-Pack
package = xml.etree.ElementTree.parse(drop / "intaglio.pdsc").getroot()
expect(package.tag == "package" and package.get("schemaVersion"), "intaglio.pdsc: no package")
expect(package.find("releases/release").get("version") == version, "intaglio.pdsc: another version")
conditions = {c.get("id") for c in package.iter("condition")}
for component in package.iter("component"):
    expect(component.get("condition") in conditions | {None}, f"intaglio.pdsc: condition {component.get('condition')} is missing")
expect(not list(package.iter("accept")), "intaglio.pdsc: asks for a core or a floating-point unit; any core will do")
expect_sources([f.get("name") for f in package.iter("file") if f.get("category") == "sourceCpp"], "intaglio.pdsc")
for entry in package.iter("file"):
    expect((drop / entry.get("name")).exists(), f"intaglio.pdsc: {entry.get('name')} is missing")

# Zephyr
module = dict(re.findall(r"^\s*(\w+): (\S+)$", (drop / "zephyr/module.yml").read_text(), re.MULTILINE))
expect((drop / module["cmake"] / "CMakeLists.txt").is_file(), "module.yml: no CMakeLists.txt there")
expect((drop / module["kconfig"]).is_file(), "module.yml: no Kconfig there")
kconfig = (drop / module["kconfig"]).read_text()
expect("config INTAGLIO" in kconfig, "Kconfig: the option is missing")
expect(not re.search(r"^\s*(depends on|select) .*FPU", kconfig, re.MULTILINE), "Kconfig: asks for a floating-point unit")
printed = configure("zephyr", """cmake_minimum_required(VERSION 3.20)
project(stub NONE)
function(zephyr_library_named name)
endfunction()
function(zephyr_library_sources)
  foreach(file IN LISTS ARGN)
    get_filename_component(path ${file} ABSOLUTE)
    if(NOT EXISTS ${path})
      message(FATAL_ERROR "${path} is missing")
    endif()
    get_filename_component(name ${file} NAME)
    message(STATUS "source ${name}")
  endforeach()
endfunction()
function(zephyr_include_directories)
endfunction()
set(CONFIG_INTAGLIO y)
add_subdirectory(@DROP@/zephyr zephyr)
""", drop.resolve())
expect_sources(re.findall(r"source (\S+)", printed), "zephyr/CMakeLists.txt")

# ESP-IDF
component = (drop / "idf_component.yml").read_text()
expect(f'version: "{version}"' in component, "idf_component.yml: another version")
printed = configure("esp-idf", """cmake_minimum_required(VERSION 3.20)
project(stub CXX)
function(idf_component_register)
  cmake_parse_arguments(arg "" "" "SRCS;INCLUDE_DIRS" ${ARGN})
  foreach(name IN LISTS arg_SRCS)
    if(NOT EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/${name})
      message(FATAL_ERROR "${name} is missing")
    endif()
    message(STATUS "source ${name}")
  endforeach()
  add_library(component STATIC ${arg_SRCS})
  set(COMPONENT_LIB component PARENT_SCOPE)
endfunction()
set(ESP_PLATFORM 1)
add_subdirectory(@DROP@ component)
""", drop.resolve())
expect_sources(re.findall(r"source (\S+)", printed), "CMakeLists.txt for ESP-IDF")

# The README: every file that it names by its whole name is there; its program in C is the sample's way.
readme = (drop / "README.md").read_text()
for name in re.findall(r"`([\w./]+\.\w+)`", readme):
    expect((drop / name).is_file() or name.startswith(("net/", "main.")), f"README.md: {name} is missing")
expect(all(f"`{name}`" in readme for name in sources if "_" not in name), "README.md: a source is not named")

for text in failures:
    print(text)
print(f"{len(sources)} sources, {len(failures)} faults")
sys.exit(1 if failures or not sources else 0)
