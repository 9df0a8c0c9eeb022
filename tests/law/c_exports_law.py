#!/usr/bin/env python3
"""Law of the shared library for C: it exports the functions of its headers, and nothing else.

  c_exports_law.py NAME LIBRARY HEADER...   NAME is the name that programs ask the loader for
  c_exports_law.py --self-test

nm comes from $NM, objdump from $OBJDUMP.
"""
import os
import pathlib
import re
import subprocess
import sys


def declared(text):
    """The functions that a header declares: names at the top level before a bracket, not those of pointers in structs."""
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    text = re.sub(r"^#.*?(?<!\\)$", "", text, flags=re.S | re.M)
    text = text.replace('extern "C" {', "")
    while (shorter := re.sub(r"\{[^{}]*\}", "", text)) != text:
        text = shorter
    return set(re.findall(r"\b(itg_\w+)\(", text))


def exported(listing):
    """Defined symbols of `nm -D`, without the node of the version script, which is an absolute symbol."""
    found = {}
    for line in listing.splitlines():
        *_, kind, name = line.split()
        if kind != "A":
            found[name.split("@")[0]] = kind
    return found


def violations(wanted, found):
    return ([f"{name}: is in the header, and the library does not export it" for name in sorted(wanted - set(found))] +
            [f"{name}: is exported, and no header declares it" for name in sorted(set(found) - wanted)] +
            [f"{name}: is exported as '{kind}', which is no function" for name, kind in sorted(found.items())
             if name in wanted and kind != "T"])


def self_test():
    header = """#ifdef __cplusplus
extern "C" {
#endif
#define ITG_CALL(x) \\
  itg_macro(x)
/* itg_comment(void) */
typedef struct itg_a {
  bool (*call)(void* context); /* itg_inner() */
} itg_a;
void itg_use(const itg_a* a,
             int b);
const char* itg_name(void);
#ifdef __cplusplus
}
#endif
"""
    good = "0000 A INTAGLIO_C_0\n0010 T itg_use@@INTAGLIO_C_0\n0020 T itg_name@@INTAGLIO_C_0\n"
    cases = [(good, 0), (good.replace("0010 T itg_use@@INTAGLIO_C_0\n", ""), 1), (good + "0030 T _ZN8intaglio3runEv\n", 1),
             (good.replace("T itg_name", "D itg_name"), 1), (good + "0030 W itg_inner\n", 1)]
    wrong = [text for text, count in cases if len(violations(declared(header), exported(text))) != count]
    if declared(header) != {"itg_use", "itg_name"}:
        wrong.append(f"declared: {declared(header)}")
    print(*wrong, sep="\n")
    print(f"{len(cases)} cases, {len(wrong)} wrong")
    return 1 if wrong else 0


def main(arguments):
    if arguments == ["--self-test"]:
        return self_test()
    name, library, *headers = arguments
    wanted = set().union(*(declared(pathlib.Path(header).read_text(encoding="utf-8")) for header in headers))
    listing = subprocess.run([os.environ["NM"], "-D", "--defined-only", library], check=True, capture_output=True, text=True)
    found = violations(wanted, exported(listing.stdout))
    dynamic = subprocess.run([os.environ["OBJDUMP"], "-p", library], check=True, capture_output=True, text=True).stdout
    if not re.search(rf"^\s*SONAME\s+{re.escape(name)}$", dynamic, re.M):
        found.append(f"{library}: its SONAME is not {name}")
    print(*found, sep="\n")
    print(f"{len(wanted)} functions of {len(headers)} headers; {name} needs {', '.join(re.findall(r'NEEDED +(.*)', dynamic))}")
    return 1 if found or not wanted else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
