"""What laws have in common: planted files that must be found out, and the command line."""
import os
import pathlib
import subprocess
import tempfile


def judge_planted(violations, planted, expected):
    """Exit code: 0 where exactly what is expected is found in the planted files, {path: text}, in that order."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in planted.items():
            path = pathlib.Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        found = violations(pathlib.Path(folder))[0]
    for text in found:
        print("found:", text)
    print("expected:", *expected, sep="\n  ")
    return 0 if len(found) == len(expected) and all(f.startswith(e) for f, e in zip(found, expected)) else 1


def run(arguments, violations, self_test, what):
    """Exit code of `law --self-test` or `law ROOT`; `violations` gives a list of texts and how many files it read."""
    if arguments == ["--self-test"]:
        return self_test()
    found, count = violations(pathlib.Path(arguments[0]))
    for text in found:
        print(text)
    print(f"{count} {what}, {len(found)} against the law")
    return 1 if found or count == 0 else 0


def run_disassembled(arguments, check, self_test, what):
    """Exit code of `law --self-test` or `law PROGRAM`; `check` gives a list of texts and how much of `what` it saw. OBJDUMP in the
    environment names the tool."""
    if arguments == ["--self-test"]:
        return self_test()
    dump = subprocess.run([os.environ.get("OBJDUMP", "objdump"), "-d", "-w", "--no-show-raw-insn", arguments[0]],
                          check=True, capture_output=True, text=True).stdout
    found, seen = check(dump.splitlines())
    for text in found:
        print(text)
    print(f"{what}: {seen}; {len(found)} against the law")
    return 1 if found else 0
