#!/usr/bin/env python3
"""Writes beside a static command what it holds of others: their licences, and a list with versions.

  scripts/command_parts.py MAP FOLDER --name NAME [--root FOLDER]...

MAP is the linker's map, which names each library that something was taken of. FOLDER gets THIRD_PARTY.txt and intaglio.cdx.json.
--root is a folder of scripts/arm_packages, for a command of another machine. A library whose licence is not known is refused
(wheel_parts.py).
"""
import argparse
import os
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
sys.dont_write_bytecode = True
import wheel_parts  # noqa: E402

RELINKING = """
The GNU C library is inside under the GNU Lesser General Public License 2.1. To link the command with a changed one: take intaglio's
sources of this version, put the changed library where the compiler finds it, and run scripts/static_command."""


def libraries_of(map_file):
    """Paths of the libraries outside of the build folder that gave at least one member."""
    found = set()
    for line in map_file.read_text(errors="replace").splitlines():
        if line.startswith("Discarded input sections") or line.startswith("Memory Configuration"):
            break
        member = re.match(r"(/.+\.a)\(", line)
        if member:
            found.add(os.path.realpath(member[1]))
    return sorted(found)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("map", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--name", required=True)
    parser.add_argument("--root", action="append", default=[], help="a folder of scripts/arm_packages")
    arguments = parser.parse_args()
    parts = wheel_parts.parts_of(libraries_of(arguments.map), arguments.root)
    (arguments.folder / "THIRD_PARTY.txt").write_text(wheel_parts.notices("command", parts) + RELINKING.lstrip("\n") + "\n")
    (arguments.folder / "intaglio.cdx.json").write_text(wheel_parts.bill(arguments.name, parts))
    return wheel_parts.report_lacking("static_command", parts)


if __name__ == "__main__":
    sys.exit(main())
