#!/usr/bin/env python3
"""check_types.py PACKAGES: mypy over right and wrong calls of the package in this folder: it must refuse each wrong line, by the
error that the line names, and nothing else. The package's own hints must be sound, too."""
import os
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent


def found_by_mypy(packages, *words):
    environment = {**os.environ, "MYPYPATH": packages}
    said = subprocess.run([sys.executable, "-m", "mypy", "--no-incremental", "--show-error-codes", "--ignore-missing-imports",
                           "--check-untyped-defs", *words], capture_output=True, text=True, env=environment, cwd=HERE)
    if said.returncode not in (0, 1) or said.stderr:
        sys.exit(said.stdout + said.stderr)
    return said.stdout


def main():
    packages = str(pathlib.Path(sys.argv[1]).resolve())
    faults = []
    for what in ((str(HERE / "right_calls.py"),), ("-p", "intaglio")):
        faults += [line for line in found_by_mypy(packages, *what).splitlines() if ": error:" in line]
    wrong = HERE / "wrong_calls.py"
    wanted = {(number, match.group(1)) for number, line in enumerate(wrong.read_text().splitlines(), 1)
              for match in [re.search(r"# E: ([a-z-]+)", line)] if match}
    found = {(int(match.group(1)), match.group(2)) for match in
             re.finditer(r"wrong_calls\.py:(\d+): error: .*\[([a-z-]+)\]", found_by_mypy(packages, str(wrong)))}
    faults += [f"wrong_calls.py:{number}: mypy does not say {code}" for number, code in sorted(wanted - found)]
    faults += [f"wrong_calls.py:{number}: mypy says {code}, which the line does not name" for number, code in sorted(found - wanted)]
    print("\n".join(faults) or f"{len(wanted)} wrong calls are refused")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
