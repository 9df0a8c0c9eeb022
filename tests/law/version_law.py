#!/usr/bin/env python3
"""Law of versions: each file that states a version of ours states the one that the code has.

  version_law.py ROOT
  version_law.py --self-test

The library's is in version.h. Its first number is that of the C interface, whose shared library COMPATIBILITY.md names. That of
the model format is in model.h.
"""
import pathlib
import re
import sys

import law_run

LIBRARY = ("runtime/include/intaglio/version.h", r'#define ITG_VERSION "([^"]+)"')
FORMAT = ("runtime/include/intaglio/model.h", r"kFormatVersion = (\d+);")
# Places of the library's version; the first match counts.
STATED = [("debian/changelog", r"^intaglio \(([^)]+)\)"),
          ("packaging/vcpkg/intaglio/vcpkg.json", r'"version": "([^"]+)"'),
          ("CHANGELOG.md", r"(?m)^## (\S+)"),
          ("COMPATIBILITY.md", r"(?m)^\| library \|.*\| (\S+) \|$")]
STATED_FORMAT = [("COMPATIBILITY.md", r"(?m)^\| model file \|.*\| (\S+) \|$")]
STATED_MAJOR = [("COMPATIBILITY.md", r"(?m)^\| C interface \|.*\| (\S+) \|$"),
                ("COMPATIBILITY.md", r"(?m)^\| C interface \|.*libintaglio_c\.so\.(\d+)")]


def stated(root, path, pattern):
    file = root / path
    found = re.search(pattern, file.read_text(encoding="utf-8")) if file.exists() else None
    return found.group(1) if found else "none"


def violations(root):
    """[violation], number of places"""
    version, model_format = stated(root, *LIBRARY), stated(root, *FORMAT)
    wanted = [(place, version) for place in STATED] + [(place, model_format) for place in STATED_FORMAT]
    wanted += [(place, version.split(".")[0]) for place in STATED_MAJOR]
    found = []
    for (path, pattern), expected in wanted:
        there = stated(root, path, pattern)
        if there != expected or there == "none":
            found.append(f"{path}: states {there}, the code has {expected}")
    return found, len(wanted)


def self_test():
    table = "| library | `ITG_VERSION` | {} |\n| model file | `kFormatVersion` | {} |\n| C interface | `libintaglio_c.so.{}` | {} |\n"
    planted = {LIBRARY[0]: '#define ITG_VERSION "2.1.0"\n', FORMAT[0]: "constexpr uint16_t kFormatVersion = 3;  // now\n",
               "debian/changelog": "intaglio (2.1.0) unstable\n\nintaglio (2.0.0) unstable\n",
               "packaging/vcpkg/intaglio/vcpkg.json": '{"version": "2.0.0"}', "CHANGELOG.md": "# Changes\n\n## 2.0.1\n\n## 2.1.0\n",
               "COMPATIBILITY.md": table.format("2.1.0", 2, 1, 2)}
    return law_run.judge_planted(violations, planted, [
        "packaging/vcpkg/intaglio/vcpkg.json: states 2.0.0, the code has 2.1.0", "CHANGELOG.md: states 2.0.1, the code has 2.1.0",
        "COMPATIBILITY.md: states 2, the code has 3", "COMPATIBILITY.md: states 1, the code has 2"])


if __name__ == "__main__":
    sys.exit(law_run.run(sys.argv[1:], violations, self_test, "places state a version"))
