#!/usr/bin/env python3
"""Builds each example as its README says, against an installed tree: the lines with pkg-config, in a copy of its folder.

  build_examples.py SOURCE FOLDER_OF_PC_FILES WORK
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys

source, pc_files, work = (pathlib.Path(argument).resolve() for argument in sys.argv[1:])
# For boards alone, by their presets.
OF_BOARDS = {"camera_rows", "firmware"}
STUB = "stb_image_write.h"


def lines_of(readme):
    """The indented lines from the first with pkg-config's path on."""
    text = readme.read_text(encoding="utf-8")
    found = re.search(r"\n    export PKG_CONFIG_PATH=[^\n]*\n((?:    [^\n]+\n)+)", text)
    return [line.strip() for line in found.group(1).splitlines()] if found else []


def main():
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    shutil.copytree(source / "examples", work / "examples")
    for name in ("calibrator", "kernels", "platforms", "runtime", "tests", "tools"):  # which -I../.. finds
        (work / name).symlink_to(source / name)
    environment = {**os.environ, "PKG_CONFIG_PATH": str(pc_files)}
    built = 0
    for folder in sorted(path for path in (work / "examples").iterdir() if path.is_dir()):
        if not any(path.suffix in (".c", ".cc") for path in folder.rglob("*")):  # of Python: nothing is built
            continue
        readme = folder / "README.md"
        if not readme.is_file():
            sys.exit(f"build_examples: examples/{folder.name} has no README.md")
        if "## Build it alone" not in readme.read_text(encoding="utf-8"):
            sys.exit(f"build_examples: examples/{folder.name}/README.md does not say how to build it alone")
        if folder.name in OF_BOARDS:
            continue
        lines = lines_of(readme)
        if not lines:
            sys.exit(f"build_examples: examples/{folder.name}/README.md has no lines with pkg-config")
        if folder.name == "detect" and not pathlib.Path("/usr/include/stb", STUB).is_file():
            continue
        if folder.name == "signed_update" and subprocess.run(["pkg-config", "--exists", "libsodium"]).returncode != 0:
            print("skipped: signed_update, which libsodium-dev builds (scripts/setup installs it)")
            continue
        done = subprocess.run(["sh", "-ec", "\n".join(lines)], cwd=folder, env=environment, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"build_examples: {folder.name}: {done.stdout}{done.stderr}")
        program = folder / lines[-1].rsplit(" -o ", 1)[1]
        if not os.access(program, os.X_OK):
            sys.exit(f"build_examples: {folder.name}: {program.name} was not made")
        built += 1
    if subprocess.run([work / "examples/on_device_calibration/on_device_calibration"]).returncode != 0:
        sys.exit("build_examples: on_device_calibration does not run")
    print(f"{built} examples are built by the lines of their READMEs")


main()
