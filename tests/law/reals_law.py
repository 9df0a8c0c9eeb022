#!/usr/bin/env python3
"""Law of reals: text of reals is written and read in calibrator/host/system/real_text.cc alone, since printf, strtod, streams
and CLI11 follow the process's locale.

  reals_law.py ROOT
  reals_law.py --self-test
"""
import re
import sys

from law_run import judge_planted, run

FOLDERS = ("calibrator", "c_api", "cli", "exporters", "importers", "platforms", "python", "runtime", "tools")
THE_PLACE = "calibrator/host/system/real_text.cc"
# A conversion of a real in a format; not in generated C, where the percent sign is doubled.
FORMAT = re.compile(r'"[^"\n]*(?<!%)(?:%%)*%[-+ #0-9.*]*[lL]?[aefgAEFG][^"\n]*"')
CALLS = re.compile(r"\b(strto(d|f|ld)|sto(d|f|ld)|atof|v?f?s?scanf|setlocale|localeconv|[io]?f?stringstream|std::locale|"
                   r"lexical_cast|CLI::(Range|Bound|Number|PositiveNumber|NonNegativeNumber))\b")
# Streams of words, and ranges of whole numbers.
WORDS_ALONE = {"tools/loaded_model.cc": 1, "cli/command_line.cc": 2, "cli/options.cc": 1}


def code_lines(text):
    for number, line in enumerate(text.split("\n"), 1):
        yield number, "" if line.lstrip().startswith("//") else line


def violations(root):
    found, count = [], 0
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            name = path.relative_to(root).as_posix()
            if path.suffix not in (".cc", ".h", ".inc", ".c") or name == THE_PLACE:
                continue
            count += 1
            allowed = WORDS_ALONE.get(name, 0)
            for number, line in code_lines(path.read_text(encoding="utf-8")):
                match = FORMAT.search(line) or CALLS.search(line)
                if match and FORMAT.search(line) is None and allowed > 0:
                    allowed -= 1
                elif match:
                    found.append(f"{name}:{number}: {match.group(0)}: reals are text in {THE_PLACE} alone (real_text.h)")
    return found, count


def self_test():
    return judge_planted(violations, {
        "cli/a.cc": 'print("%5d %% of %zu, %s\\n", a, b, c);\n// printf("%f")\nc.add("printf(\\"%%g\\", x)");\n',
        "cli/b.cc": 'print("%.3f ms\\n", x);\nx = std::strtod(text, &end);\n',
        "cli/options.cc": "option->check(CLI::Range(low, high));\noption->check(CLI::Range(low, high));\n",
        THE_PLACE: "double x = strtod(text, &end);\n",
    }, ["cli/b.cc:1: ", "cli/b.cc:2: strtod", "cli/options.cc:2: CLI::Range"])


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:], violations, self_test, "sources"))
