"""Conan 2: `conan create packaging/conan` in the repository. The recipe builds the sources that it stands in."""
import os
import re

from conan import ConanFile
from conan.tools.cmake import CMake, CMakeToolchain
from conan.tools.files import copy, load
from conan.tools.layout import basic_layout
from conan.tools.system.package_manager import Apt, Brew, Dnf

FOLDERS = ["c_api", "calibrator", "cmake", "kernels", "platforms", "runtime", "schema"]


class Intaglio(ConanFile):
    name = "intaglio"
    license = "Apache-2.0"
    description = "int8 neural-network inference with a built-in calibrator"
    topics = ("neural-network", "inference", "int8", "quantization")
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False], "fPIC": [True, False], "openmp": [True, False]}
    default_options = {"shared": False, "fPIC": True, "openmp": False}

    def set_version(self):
        text = load(self, os.path.join(self.recipe_folder, "..", "..", "runtime", "include", "intaglio", "version.h"))
        self.version = re.search(r'ITG_VERSION "([^"]+)"', text)[1]

    def export_sources(self):
        root = os.path.join(self.recipe_folder, "..", "..")
        for name in ("CMakeLists.txt", "LICENSE"):
            copy(self, name, root, self.export_sources_folder)
        for folder in FOLDERS:
            copy(self, "*", os.path.join(root, folder), os.path.join(self.export_sources_folder, folder))

    def layout(self):
        basic_layout(self)

    def system_requirements(self):
        # flatc and its headers are needed where it is built, and not by the program.
        Apt(self).check(["flatbuffers-compiler", "libflatbuffers-dev"])
        Dnf(self).check(["flatbuffers-compiler", "flatbuffers-devel"])
        Brew(self).check(["flatbuffers"])

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables.update({
            "ITG_DEVELOPER": "OFF", "ITG_INSTALL": "ON", "ITG_PYTHON_MODULE": "OFF",
            "ITG_C_SHARED": "ON" if self.options.shared else "OFF", "ITG_OPENMP": "ON" if self.options.openmp else "OFF",
            "CMAKE_POSITION_INDEPENDENT_CODE": "ON" if self.options.get_safe("fPIC", True) else "OFF"})
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build(target="intaglio_installed")

    def package(self):
        CMake(self).install()

    def package_info(self):
        # The package's own CMake files name its targets: intaglio::intaglio, ::calibrator, ::c, ::c_shared, ::openmp.
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = [os.path.join("lib", "cmake", "intaglio")]
        # Who finds them without CMake links what they need, in this order.
        if self.options.shared:
            self.cpp_info.libs = ["intaglio_c"]
            return
        self.cpp_info.libs = ["intaglio_c", "intaglio_calibrator", "intaglio"]
        if self.options.openmp:
            self.cpp_info.libs.insert(0, "intaglio_openmp")
            self.cpp_info.sharedlinkflags = self.cpp_info.exelinkflags = ["-fopenmp"]
