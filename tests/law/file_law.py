#!/usr/bin/env python3
"""Laws of files (DESIGN section 3): names are unique, nothing is left undone, nothing is kept that a build made, and no library
asks the processor's name: what a compiler makes decides (cmake/ItgKernelFlags.cmake). No script fetches a tool that no sum names.

  file_law.py ROOT
  file_law.py --self-test
"""
import collections
import os
import pathlib
import re
import subprocess
import sys

from law_run import judge_planted, run

SKIPPED_FOLDERS = re.compile(r"\.(?!ci$).*|build[^.]*|dist|CMakeFiles|__pycache__|venv")  # no sources of ours
SHARED_NAMES = {"CMakeLists.txt", "README.md", ".gitignore"}
SHARED_PATHS = {".ci/run", "packaging/conan/test_package/conanfile.py"}  # named by what starts them: one other file may be called so
DATA = {".png", ".jpg", ".npy", ".bin", ".itg", ".onnx", ".tflite"}  # numbered files, one series a folder
CODE = {".cc", ".h", ".c", ".inc", ".py", ".cmake", ".fbs"}
LIBRARIES = {"cmake", "kernels", "platforms", "runtime", "schema", "calibrator", "c_api", "importers", "exporters"}
FETCHES = re.compile(r"-m pip (install|download|wheel)\b")  # by what builds what is handed on
FETCHED_SAFELY = re.compile(r"--require-hashes|--no-index")
PROCESSOR = "CMAKE_SYSTEM" "_PROCESSOR"
UNDONE = re.compile(r"\b(" + "|".join(("TO" "DO", "FIX" "ME", "XX" "X", "HA" "CK")) + r")\b")


def files(root):
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(f for f in folders if not SKIPPED_FOLDERS.fullmatch(f))
        for name in sorted(names):
            yield pathlib.Path(folder, name)


def kept(root):
    """What git has, and what keeps it from saying so; nothing where the sources are no checkout."""
    if not (root / ".git").exists():
        return [], []
    try:
        done = subprocess.run(["git", "-C", root, "ls-files", "-z"], capture_output=True, text=True)
    except OSError as error:
        return [], [f".git: git does not run: {error}"]
    if done.returncode != 0:
        return [], [f".git: git ls-files fails: {done.stderr.strip()}"]
    return [name for name in done.stdout.split("\0") if name], []


def made_by_builds(names):
    return [f"{name}: kept, and stands where builds write" for name in names
            if any(SKIPPED_FOLDERS.fullmatch(folder) for folder in name.split("/")[:-1])]


def violations(root):
    names, found = kept(root)
    found, places = found + made_by_builds(names), collections.defaultdict(list)
    for path in files(root):
        shown = path.relative_to(root).as_posix()
        if path.name not in SHARED_NAMES and shown not in SHARED_PATHS and path.suffix not in DATA:
            places[path.name].append(shown)
        is_script = shown.startswith("scripts/") and path.suffix == ""
        if not is_script and path.suffix not in CODE and path.name != "CMakeLists.txt":
            continue
        lines = path.read_text(encoding="utf-8").split("\n")
        for number, line in enumerate(lines, 1):
            if UNDONE.search(line):
                found.append(f"{shown}:{number}: left undone: {line.strip()}")
            if FETCHES.search(line) and shown.split("/")[0] in {"scripts", "packaging"} and not FETCHED_SAFELY.search(line):
                found.append(f"{shown}:{number}: fetches what no sum names: {line.strip()}")
            if PROCESSOR in line and shown.split("/")[0] in LIBRARIES and "toolchain" not in shown:
                found.append(f"{shown}:{number}: asks the processor's name; ask ITG_MACHINE: {line.strip()}")
    for name, same in sorted(places.items()):
        if len(same) > 1:
            found.append(f"{name}: one name for {len(same)} files: {', '.join(same)}")
    return found, sum(len(same) for same in places.values())


def self_test():
    marker = "TO" "DO"
    planted = {
        "a/CMakeLists.txt": "\n", "b/CMakeLists.txt": "\n", "a/1.png": "", "b/1.png": "", "build/gemm.cc": "\n",
        "a/gemm.cc": "\n",
        "a/twice.h": "\n", "b/twice.h": "\n",
        "b/undone.cc": f"// {marker}: later\n",
        "scripts/fetching": "python -m pip install build\npython -m pip install --require-hashes -r pins.txt\n",
        "kernels/CMakeLists.txt": f"if({PROCESSOR})\n", "tests/CMakeLists.txt": f"if({PROCESSOR})\n",
    }
    expected = ["b/undone.cc:1:", "kernels/CMakeLists.txt:1:", "scripts/fetching:1:", "twice.h:"]
    made = made_by_builds(["a/build/x.c", "a/x.c", ".ci/run", "build.txt"])
    if len(made) != 1 or not made[0].startswith("a/build/x.c:"):
        print(f"of what builds make, found {made}")
        return 1
    no_checkout = {".git": "gitdir: nowhere\n", "a/gemm.cc": "\n"}
    return judge_planted(violations, planted, expected) or judge_planted(violations, no_checkout, [".git:"])


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:], violations, self_test, "files"))
