#!/usr/bin/env python3
"""Compiles what has an instruction set of its own with flags that allow more than that, as whoever builds with
-march=native does. Nothing is run: no CPU is needed that has them.

  compile_wider.py tree BUILD ISAS FLAG...       files *_<isa>.cc as BUILD/compile_commands.json compiles them, and FLAGs
  compile_wider.py drop DROP "COMPILER" FLAG...  the source drop's files with FLAGs alone

A file must not ask the compiler's macros for more than its own instruction set: what it then declares, or writes in
assembly, is another file's.
"""
import json
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

LEVEL = "-O1"  # intrinsics and assembly are compiled as ever, in half the time


def tree(build, isas, flags, output):
    own = re.compile(rf"/kernels/\w+/\w+_({'|'.join(isas.split(','))})\.cc$")
    prepared = {}
    for entry in json.loads((pathlib.Path(build) / "compile_commands.json").read_text()):
        if own.search(entry["file"]):
            command = shlex.split(entry["command"])
            own_flags = command[:command.index("-o")] + [LEVEL] + flags
            header = prepared.setdefault(tuple(own_flags), f"{pathlib.Path(output).parent}/{len(prepared)}.h")
            if not pathlib.Path(header).exists():
                prepare_intrinsics(header, own_flags, entry["directory"])
            yield entry["directory"], own_flags + ["-include", header, "-c", entry["file"], "-o", output]


def prepare_intrinsics(header, command, folder):
    """The compiler's header of intrinsics, compiled once: reading it takes most of the time of a kernel's file."""
    pathlib.Path(header).write_text("#if defined(__x86_64__)\n#include <immintrin.h>\n#else\n#include <arm_neon.h>\n#endif\n")
    subprocess.run(command + ["-x", "c++-header", header, "-o", f"{header}.gch"], cwd=folder, check=True)


def drop(folder, compiler, flags, output):
    for path in sorted(pathlib.Path(folder).glob("*.cc")):
        # The portable file asks its flags for no more than which kernels there are.
        action = ["-fsyntax-only"] if path.name == "intaglio.cc" else ["-c", "-o", output]
        yield folder, shlex.split(compiler) + ["-std=c++17", "-w", str(path), LEVEL] + action + flags


def main():
    kind, where, what, *flags = sys.argv[1:]
    count = failed = 0
    with tempfile.TemporaryDirectory() as work:
        for folder, command in {"tree": tree, "drop": drop}[kind](where, what, flags, f"{work}/wider.o"):
            count += 1
            if subprocess.run(command, cwd=folder, check=False).returncode != 0:
                failed += 1
                print("compile_wider: refused: " + shlex.join(command))
    print(f"compile_wider: {count} files with {' '.join(flags)}, {failed} refused")
    sys.exit(count == 0 or failed > 0)


if __name__ == "__main__":
    main()
