#!/usr/bin/env python3
"""Law of the C interface: what may grow can grow (c_api.h, Versions).

  c_struct_law.py ROOT
  c_struct_law.py --self-test

A struct of a public header in C either begins with `size_t struct_size`, and then is only given by pointer, or is one of
those that never change. One that may grow stands in no other struct, in no array, and is no argument or result by value.
"""
import pathlib
import re
import sys

FIXED = {"itg_error", "itg_bytes", "itg_span", "itg_op_list", "itg_session_memory", "itg_slot_setting"}
STRUCT = re.compile(r"typedef struct (\w+) \{(.*?)\n\} \1;", re.S)


def violations(text):
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    found = []
    structs = dict(STRUCT.findall(text))
    growing = [name for name, body in structs.items() if body.lstrip().startswith("size_t struct_size;")]
    for name in structs:
        if name not in growing and name not in FIXED:
            found.append(f"{name}: may it grow? It has no struct_size")
        if name in growing and name in FIXED:
            found.append(f"{name}: never changes, and has a struct_size")
    for name in growing:
        for other, body in structs.items():
            # A callback's argument is a pointer; a member by value has none.
            if re.search(rf"^\s*(const )?{name} \w", body, re.M):
                found.append(f"{other}: holds a {name} by value, which may grow")
        for line in re.findall(rf"[^;{{}}]*\b{name}\b[^;{{}}]*;", re.sub(STRUCT, "", text)):
            if re.search(rf"\b{name} (?!\*)\w", line):
                found.append(f"{' '.join(line.split())}: takes or gives a {name} by value, which may grow")
    return found, len(structs)


def self_test():
    good = """
typedef struct itg_bytes {
  int size;
} itg_bytes;
typedef struct itg_a {
  size_t struct_size;
  int x; /* itg_b y */
} itg_a;
typedef struct itg_b {
  size_t struct_size;
  const itg_a* a;
  void (*call)(void* context, const itg_a* a);
} itg_b;
void itg_use(const itg_a* a, itg_bytes bytes, itg_b* b);
"""
    planted = [
        (good, 0),
        (good.replace("const itg_a* a;", "itg_a a;"), 1),
        (good.replace("const itg_a* a;", "const itg_a a[2];"), 1),
        (good.replace("  size_t struct_size;\n  const itg_a* a", "  const itg_a* a"), 1),
        (good.replace("void itg_use(const itg_a* a", "void itg_use(itg_a a"), 1),
        (good.replace("void itg_use", "itg_a itg_use"), 1),
        (good.replace("  int size;", "  size_t struct_size;\n  int size;"), 2),  # and it is an argument by value
    ]
    counts = [(len(violations(text)[0]), expected) for text, expected in planted]
    print(counts)
    return 0 if all(a == b for a, b in counts) else 1


def main():
    if sys.argv[1] == "--self-test":
        return self_test()
    folder = pathlib.Path(sys.argv[1], "c_api/include/intaglio")
    found, count = violations("\n".join(path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.h"))))
    for text in found:
        print(text)
    print(f"{count} structs, {len(found)} violations")
    return 1 if found or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
