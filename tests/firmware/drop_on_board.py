#!/usr/bin/env python3
"""The source drop as firmware: built as an IDE does, without CMake and without -DNDEBUG, for this preset's core.

  drop_on_board.py --drop DIST --work FOLDER --root REPOSITORY --board-models BUILD/benchmarks/board_models
                   --make-model firmware_make_model --cc arm-none-eabi-gcc --cxx arm-none-eabi-g++ --size arm-none-eabi-size
                   --flags "-mcpu=..." --emulator "qemu-system-arm;-M;...;-kernel" [--models] [--without-fpu]

--models: programs of benchmarks/board_models, checked and planned, must give their outputs, and hold at most 4 percent
more flash than the same programs that link the libraries of the CMake build: a program takes what it names, although a
drop is few files.
--without-fpu: the firmware example on a Cortex-M3, which has no floating-point unit.
"""
import argparse
import concurrent.futures
import pathlib
import re
import subprocess
import sys

OPTIONS = "-Os -ffunction-sections -fdata-sections -Wall -Wextra -Werror".split()
CXX_OPTIONS = "-std=gnu++17 -fno-exceptions -fno-rtti".split()
MODELS = ("resnet8", "kws")
MORE = 1.04  # where gcc, seeing more of the sources at once, decides otherwise
M3 = "-mthumb -mcpu=cortex-m3 -mfloat-abi=soft".split()
M3_EMULATOR = "qemu-system-arm -M mps2-an385 -display none -monitor none -serial none " \
              "-semihosting-config enable=on,target=native -kernel".split()


class Firmware:
    """The drop compiled for one core, and programs around it."""

    def __init__(self, arguments, name, flags, emulator):
        self.arguments, self.flags, self.emulator = arguments, flags, emulator
        self.folder = arguments.work / name
        self.folder.mkdir(parents=True, exist_ok=True)
        sources = sorted(arguments.drop.glob("*.cc"))
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            self.objects = list(pool.map(self.compile, sources))
        self.objects.append(self.compile(arguments.root / "examples/firmware/board.c"))

    def compile(self, source, options=(), name=None):
        made = self.folder / f"{name or source.stem}.o"
        plain_c = source.suffix == ".c"
        command = [self.arguments.cc] if plain_c else [self.arguments.cxx, *CXX_OPTIONS]
        subprocess.run([*command, *self.flags, *OPTIONS, *options, f"-I{self.arguments.drop}", "-c", source, "-o", made], check=True)
        return made

    def link(self, name, objects, without=()):
        """A program that ends with 0 in the emulator; gives its flash without the model. `without`: files left out."""
        made = self.folder / f"{name}.elf"
        script = self.arguments.root / "examples/firmware/board.ld"
        library = [path for path in self.objects if path.stem not in without]
        subprocess.run([self.arguments.cc, *self.flags, *objects, *library, "--specs=nano.specs", "-nostartfiles", f"-T{script}",
                        "-Wl,--gc-sections", "-Wl,--no-warn-rwx-segments", "-o", made], check=True)
        status = subprocess.run([*self.emulator, made], check=False).returncode
        if status != 0:
            sys.exit(f"failed: {made}: ended with {status}")
        return flash(self.arguments.size, made)


def flash(tool, program):
    """Bytes of what stands in flash, the model's section left out."""
    sizes = dict(re.findall(r"^(\.\S+)\s+(\d+)", subprocess.run([tool, "-A", program], capture_output=True, text=True,
                                                                check=True).stdout, re.MULTILINE))
    return sum(int(sizes.get(section, 0)) for section in (".text", ".data", ".ARM.extab", ".ARM.exidx"))


def board_models(arguments):
    """The figures of each program, from the drop and from the libraries; those above the budget."""
    firmware = Firmware(arguments, "models", arguments.flags.split(), arguments.emulator.split(";"))
    failed = []
    source = arguments.root / "benchmarks/board_models/board_model.cc"
    for model in MODELS:
        folder = arguments.board_models / model
        for form, options in (("1", []), ("planned_1", ["-DITG_PLANNED", f"-I{folder}/planned"])):
            options += [f"-I{arguments.root}", f"-I{folder}", "-DITG_RUNS=1", f'-DITG_MODEL="{folder}/model.itg"']
            name = f"{model}_{form}"
            objects = [firmware.compile(source, options, name)]
            if "planned" in form:
                objects.append(firmware.compile(folder / "planned/net_model.cc", options, f"{name}_parts"))
            size, linked = firmware.link(name, objects), flash(arguments.size, arguments.board_models / f"{name}.elf")
            least = firmware.link(f"{name}_least", objects, ("intaglio_calibrator", "intaglio_describe"))
            if least != size:
                failed.append(f"{name}: {size} bytes of flash, {least} where what is not used is left out")
            print(f"{name:20} drop {size:6}, libraries {linked:6}")
            if size > linked * MORE:
                failed.append(f"{name}: {size} bytes of flash, with the libraries {linked}")
    # README's program in C, with what export-c wrote.
    text = re.search(r"```c\n(.*?)```", (arguments.drop / "README.md").read_text(encoding="utf-8"), re.DOTALL).group(1)
    program = firmware.folder / "readme.c"
    program.write_text(text, encoding="utf-8")
    firmware.compile(program, ["-std=c99", "-pedantic", f"-I{arguments.board_models / MODELS[0] / 'planned'}"])
    return failed


def without_fpu(arguments):
    firmware = Firmware(arguments, "cortex-m3", M3, M3_EMULATOR)
    source = arguments.root / "examples/firmware/firmware_main.cc"
    subprocess.run([arguments.make_model, firmware.folder / "firmware_model.h"], check=True)
    size = firmware.link("firmware", [firmware.compile(source, [f"-I{firmware.folder}"])])
    print(f"cortex-m3 without FPU: flash with the model {size}")


def main():
    parser = argparse.ArgumentParser()
    for name in ("drop", "work", "root", "board-models", "make-model"):
        parser.add_argument(f"--{name}", type=lambda text: pathlib.Path(text).resolve(), required=True)
    for name in ("cc", "cxx", "size", "flags", "emulator"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--models", action="store_true")
    parser.add_argument("--without-fpu", action="store_true")
    arguments = parser.parse_args()
    failed = board_models(arguments) if arguments.models else []
    if arguments.without_fpu:
        without_fpu(arguments)
    for text in failed:
        print("failed:", text)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
