#!/usr/bin/env python3
"""Configures the library and the source drop with a compiler that people have for their board, and compiles a few files.

  board_compilers.py BOARD CMAKE SOURCE DROP WORK [--drop-files]

What the kernels of a build are is what its compiler makes, whatever the processor or the system is called. BOARD names a row of
BOARDS. --drop-files: the drop's own file of each instruction set is compiled, too, which takes minutes.
"""
import pathlib
import re
import shutil
import subprocess
import sys

ARMHF, ARM64 = "arm-linux-gnueabihf-g++", "aarch64-linux-gnu-g++"
X86 = ["avx2", "avxvnni", "avx512ymm", "avx512vnni", "avx512vbmi", "shani"]
A64 = ["neon", "neondot", "neoni8mm", "neona53", "neona55", "neonsha2"]
# Android's C library is not here: its programs' headers are played by those of Debian's cross compilers.
ANDROID_32 = ("--target=armv7a-linux-androideabi21 -isystem {work}/soft -isystem /usr/arm-linux-gnueabihf/include/c++/12 "
              "-isystem /usr/arm-linux-gnueabihf/include/c++/12/arm-linux-gnueabihf -isystem /usr/arm-linux-gnueabihf/include")
ANDROID_64 = ("--target=aarch64-linux-android21 -isystem /usr/aarch64-linux-gnu/include/c++/12 "
              "-isystem /usr/aarch64-linux-gnu/include/c++/12/aarch64-linux-gnu -isystem /usr/aarch64-linux-gnu/include")

# name: (compiler, processor's name, system's name, flags, kernels, what is named as left out)
BOARDS = {
    "debian_armhf": (ARMHF, "armv7l", "Linux", "", ["neon"], []),
    # Its compiler's default is an ARMv6.
    "raspberry_pi_os": (ARMHF, "armv7l", "Linux", "-march=armv6 -mfpu=vfp -mfloat-abi=hard -marm", ["neon"], []),
    "pi_32_on_64": (ARMHF, "aarch64", "Linux", "", ["neon"], []),
    "cortex_a9": (ARMHF, "armv7-a", "Linux", "-mcpu=cortex-a9 -mfpu=neon", ["neon"], []),
    "cortex_a72_of_32_bits": (ARMHF, "armv8l", "Linux", "-mcpu=cortex-a72 -mfpu=crypto-neon-fp-armv8", ["neon"], []),
    "soft_float": (ARMHF, "armv5tel", "Linux", "-march=armv5te -mfloat-abi=soft", [], ["neon (the compiler does not take -mfpu"]),
    "clang_armhf": ("clang++", "arm", "Linux", "--target=arm-linux-gnueabihf", ["neon"], []),
    "arm64_called_armv7": (ARM64, "armv7l", "Linux", "", A64, []),
    "arm64_called_by_its_chip": (ARM64, "BCM2712", "Linux", "", A64, []),
    "arm64_without_a_name": (ARM64, "", "Linux", "", A64, []),
    "android_arm64": ("clang++", "aarch64", "Linux", ANDROID_64, A64, []),
    "android_armv7": ("clang++", "armv7-a", "Linux", ANDROID_32, ["neon"], []),
    "x86_64_called_i686": ("g++", "i686", "Linux", "", X86, []),
    "x86_of_32_bits": ("g++", "x86_64", "Linux", "-m32", [], []),
    "cortex_m4_called_arm": ("arm-none-eabi-g++", "arm", "Generic", "-mthumb -mcpu=cortex-m4 -mfpu=fpv4-sp-d16 -mfloat-abi=hard",
                             ["dsp"], ["helium (the flags of the whole program do not have it)"]),
    "bare_cortex_a9": ("arm-none-eabi-g++", "arm", "Generic", "-mcpu=cortex-a9 -mfpu=neon -mfloat-abi=softfp", [], []),
    "bare_cortex_a7": ("arm-none-eabi-g++", "arm", "Generic", "-mcpu=cortex-a7 -mfpu=neon-vfpv4 -mfloat-abi=hard", ["neon"], []),
    "risc_v": ("clang++", "riscv", "Generic", "--target=riscv32 -march=rv32imc -mabi=ilp32", [], []),
}
# For an instruction set, files that the tree's build compiles for it; and what every machine has.
# CPUs of qemu-user, and whether they have what the NEON kernels need.
CHOICES = {"cortex-a8": 0, "cortex-a9": 0, "cortex-a7": 1, "cortex-a15": 1}
OF_ISA = {"neon": ["gemm/gemm_s8_neon", "dwconv/dwconv_s8_neon", "gemm/gemm_f32_neon"], "neondot": ["gemm/gemm_s8_neondot"],
          "neoni8mm": ["gemm/gemm_s8_neoni8mm"], "neonsha2": ["digest/sha256_neonsha2"], "avx2": ["gemm/gemm_s8_avx2"],
          "dsp": ["gemm/gemm_s8_dsp"]}
PORTABLE = ["platforms/cpu_isa", "kernels/gemm/gemm_s8"]


def run(command, **options):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, **options)
    return done.returncode, done.stdout + done.stderr


def fail(text):
    sys.exit(f"board_compilers: {text}")


def configured(cmake, source, build, settings, kernels, left_out):
    shutil.rmtree(build, ignore_errors=True)
    code, text = run([cmake, "-S", source, "-B", build, "-G", "Ninja", *settings])
    if code != 0:
        fail(f"{source}: not configured:\n{text}")
    if f"-- intaglio has kernels for: {', '.join(kernels + ['scalar'])}\n" not in text:
        fail(f"{source}: expected kernels for {kernels}:\n{text}")
    named = re.findall(r"^-- intaglio leaves out kernels: (.*)", text, re.MULTILINE)
    if len(named) < len(left_out) or not all(any(line.startswith(expected) for line in named) for expected in left_out):
        fail(f"{source}: expected to be named as left out: {left_out}:\n{text}")


def compiled(build, sources):
    code, text = run(["ninja", "-C", build, "-j1", *(f"{source}.cc^" for source in sources)])  # ^: what is made of it
    if code != 0:
        fail(f"not compiled:\n{text}")


def chosen(compiler, source, work):
    """The kernels that a program with plain flags chooses from, on CPUs with and without."""
    program = work / "cpu_isa"
    program.with_suffix(".cc").write_text("""#include <stdio.h>
#include "intaglio/platform.h"
int main() { printf("%d", (intaglio::cpu_isa() & intaglio::isa::kNeon) != 0); }
""")
    code, text = run([compiler, "-std=c++17", "-static", f"-I{source}", f"-I{source}/platforms/include", f"-I{source}/kernels/include",
                      program.with_suffix(".cc"), f"{source}/platforms/cpu_isa.cc", "-o", program])
    if code != 0:
        fail(text)
    for cpu, expected in CHOICES.items():
        code, text = run(["qemu-arm", "-cpu", cpu, program])
        if (code, text) != (0, str(expected)):
            fail(f"{cpu}: NEON is {text}, expected {expected}")


def main():
    board, cmake, source, drop, work, *options = sys.argv[1:]
    compiler, processor, system, flags, kernels, left_out = BOARDS[board]
    work = pathlib.Path(work) / board
    for program in (compiler, "ninja"):
        if not shutil.which(program):
            print(f"skipped: {program} is missing")
            return
    (work / "soft/gnu").mkdir(parents=True, exist_ok=True)
    (work / "soft/gnu/stubs-soft.h").write_text("")
    flags = flags.format(work=work)
    toolchain = work / "toolchain.cmake"
    toolchain.write_text(f"""set(CMAKE_SYSTEM_NAME {system})
set(CMAKE_SYSTEM_PROCESSOR "{processor}")
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
set(CMAKE_C_COMPILER {compiler.replace('clang++', 'clang').replace('g++', 'gcc')})
set(CMAKE_CXX_COMPILER {compiler})
set(CMAKE_C_FLAGS_INIT "{flags}")
set(CMAKE_CXX_FLAGS_INIT "{flags}")
""")
    settings = [f"-DCMAKE_TOOLCHAIN_FILE={toolchain}", "-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_CXX_FLAGS_RELEASE=-O1"]
    configured(cmake, source, work / "tree", [*settings, "-DITG_DEVELOPER=OFF"], kernels, left_out)
    configured(cmake, drop, work / "drop", settings, kernels, left_out)
    if board in ("soft_float", "x86_of_32_bits", "risc_v"):  # without their C library's headers
        return
    names = PORTABLE + [f"kernels/{name}" for isa in kernels for name in OF_ISA.get(isa, [])]
    compiled(work / "tree", [pathlib.Path(source).resolve() / name for name in names])
    if board == "debian_armhf" and shutil.which("qemu-arm"):
        chosen(compiler, source, work)
    if "--drop-files" in options:
        compiled(work / "drop", [pathlib.Path(drop).resolve() / f"intaglio_{isa}" for isa in kernels])


main()
