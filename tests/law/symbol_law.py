#!/usr/bin/env python3
"""Laws of objects: what the device libraries ask of others, and which instructions stand where.

  symbol_law.py imports ARCHIVE [PROVIDER...]   undefined symbols of ARCHIVE that no PROVIDER defines, static
                                                constructors, writable data
  symbol_law.py isa --isas avx2,... ARCHIVE...  objects named *_<isa> hold no weak symbols (the linker might keep
                                                their copy for everyone); the others hold no instructions that
                                                not every CPU of the machine has
  symbol_law.py exports ARCHIVE...              global symbols are in namespace intaglio, our FlatBuffers' namespace, or
                                                start with itg_; weak ones of the C++ library, which host parts
                                                instantiate, are everyone's
  symbol_law.py --self-test COMPILER            plants violations, and expects each to be found

NM and OBJDUMP in the environment name the tools.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

MEMORY_AND_STRINGS = {"memcpy", "memset", "memmove", "memcmp", "strlen", "strcmp", "strncmp",
                      "strchr", "strstr"}
SYSTEM = {"getauxval", "__getauxval", "_GLOBAL_OFFSET_TABLE_", "__stack_chk_fail"}
# Calls that compilers put in place of an operation: 64-bit division and shifts on 32-bit machines, ARM's EABI, and
# float arithmetic where there is no hardware for it.
COMPILER = re.compile(r"__aeabi_\w+|__u?(div|mod|divmod)[sdt]i[34]|__(mul|ashl|ashr|lshr|clz|ctz|popcount)[sdt]i[23]|"
                      r"__gnu_\w+|__(add|sub|mul|div|fix|fixuns|float|floatun|floatuns|extend|trunc|eq|ne|lt|le|gt|ge|unord)"
                      r"[sd][fi]\w*")
# Beyond what every CPU of the machine has, by objdump's name of the file format. Mnemonics, then operands.
VEX = re.compile(r"v(?!er[rw]$)\w+|andn|bextr|blsi|blsr|blsmsk|bzhi|mulx|pdep|pext|rorx|sarx|shlx|shrx|"
                 r"k(mov|or|and|xor|not|shift|test|add|unpck)\w+")
WIDE = re.compile(r"%[yz]mm")
DOT = re.compile(r"(s|u|su|us)dot|(s|u|us)mmla|bf(dot|mmla|mlal[bt]|cvt\w*)|fmlal2?|sqrdml[as]h|ptrue|whilelo|cnt[bhwd]|"
                 r"(cas|swp|ld(add|clr|eor|set|smax|smin|umax|umin))\w*")
SCALABLE = re.compile(r"\bz\d+\.|\bp\d+[./]")
NOTHING = re.compile(r"(?!)")
BEYOND = {"elf64-x86-64": (VEX, WIDE), "elf64-littleaarch64": (DOT, SCALABLE), "elf32-littlearm": (NOTHING, NOTHING)}


def run(tool, *arguments):
    command = [os.environ.get(tool.upper(), tool), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: {done.stderr.strip()}")
    return done.stdout


def stem(member):
    return pathlib.PurePath(member).name.split(".")[0]


def symbols(path):
    """[(object, type letter, name)] of an archive or object."""
    found, member = [], path
    for line in run("nm", path).splitlines():
        words = line.split()
        if line.endswith(":") and len(words) == 1:
            member = line[:-1]
        elif len(words) >= 2:
            found.append((stem(member), words[-2], words[-1]))
    return found


def sections_with_objects(archive):
    """(object, section) for each symbol that is a variable or function, not a section's or mapping symbol."""
    member = archive
    for line in run("objdump", "-t", "-w", archive).splitlines():
        if "file format" in line:
            member = line.split(":")[0]
        match = re.match(r"[0-9a-f]+ (.{7}) (\S+)\s+[0-9a-f]+\s+(\S.*)$", line)
        if match and "d" not in match.group(1) and not re.match(r"(\.hidden )?\$[a-z]", match.group(3)):
            yield stem(member), match.group(2)


def check_imports(archive, providers):
    found = []
    own = symbols(archive)
    defined = {name for path in [archive, *providers] for _, kind, name in (own if path == archive else symbols(path))
               if kind not in "Uw"}
    external = sorted({(member, name) for member, kind, name in own if kind in "Uw" and name not in defined})
    for member, name in external:
        if name in MEMORY_AND_STRINGS or name in SYSTEM or COMPILER.fullmatch(name):
            continue
        found.append(f"{member}: needs {name}")
    # gcc for AArch64 keeps an initial value that holds addresses in .data, without a symbol: nothing can write it.
    named = {(member, section) for member, section in sections_with_objects(archive)}
    member = archive
    for line in run("objdump", "-h", "-w", archive).splitlines():
        if "file format" in line:
            member = line.split(":")[0]
        words = line.split()
        if len(words) < 3 or not words[0].isdigit():
            continue
        section, size = words[1], int(words[2], 16)
        if re.match(r"\.(init_array|ctors|preinit_array|fini_array|dtors)", section):
            found.append(f"{stem(member)}: a static constructor or destructor ({section})")
        elif (size > 0 and re.match(r"\.(data(?!\.rel\.ro)|bss|tdata|tbss)", section) and
              (stem(member), section) in named):
            found.append(f"{stem(member)}: {size} bytes of writable data ({section})")
    print(f"{archive}: {len(own)} symbols; from others: {', '.join(sorted({name for _, name in external}))}")
    return found, len(own)


OURS = re.compile(r"itg_\w+|_Z(T[A-Za-z]|GV)?Z?(L|N)?[KVO]*(8intaglio|15itg_flatbuffers|24itg_heapless_flatbuffers).*")
STANDARD = re.compile(r"_Z(T[A-Z]|GV)?Z?N?[VK]*(St|S[a-z]|9__gnu_cxx).*|DW\.ref\.__gxx_personality_v0")


def check_exports(archives):
    found, count = [], 0
    for archive in archives:
        for member, kind, name in symbols(archive):
            if kind == "U" or kind in "wv" or not (kind.isupper() or kind == "u"):
                continue
            count += 1
            if not OURS.fullmatch(name) and not (kind in "WVu" and STANDARD.fullmatch(name)):
                found.append(f"{member}: exports {name}")
    print(f"{count} global symbols")
    return found, count


def check_isa(archives, isas):
    found, special, portable = [], set(), set()
    is_special = lambda member: any(stem(member).endswith("_" + isa) for isa in isas)
    for archive in archives:
        for member, kind, name in symbols(archive):
            if is_special(member):
                special.add(member)
                if kind in "WVwvu":
                    found.append(f"{member}: weak symbol {name}")
        member, function, reported = archive, "", set()
        mnemonics, operands = NOTHING, NOTHING
        for line in run("objdump", "-d", "-w", "--no-show-raw-insn", archive).splitlines():
            if "file format" in line:
                member = line.split(":")[0]
                mnemonics, operands = BEYOND[line.split()[-1]]
                continue
            if line.endswith(">:"):
                function = line.split("<")[-1][:-2]
                continue
            parts = line.split("\t")
            if len(parts) < 2 or is_special(member):
                continue
            portable.add(stem(member))
            instruction = parts[1].strip()
            mnemonic = instruction.split(" ")[0]
            if (mnemonics.fullmatch(mnemonic) or operands.search(instruction)) and (member, function) not in reported:
                reported.add((member, function))
                found.append(f"{stem(member)}: {function}: {instruction}")
    print(f"{len(portable)} portable objects, {len(special)} of one ISA: {', '.join(sorted(special))}")
    return found, len(portable)


# name: (source, flags, the check, what its message holds; None: legal)
PLANTED = {
    "heap": ("#include <stdlib.h>\nvoid* f(size_t n) { return malloc(n); }", [], "imports", "malloc"),
    "new": ("int* f() { return new int[7]; }", [], "imports", "_Zna"),
    "print": ("#include <stdio.h>\nvoid f(int x) { printf(\"%d\", x); }", [], "imports", "printf"),
    "math": ("#include <math.h>\nfloat f(float x) { return expf(x); }", [], "imports", "expf"),
    "fused": ("#include <math.h>\nfloat f(float x) { return fmaf(x, x, x); }", ["-fno-builtin"], "imports", "fmaf"),
    "throws": ("void f(int x) { throw x; }", [], "imports", "__cxa_throw"),
    "rtti": ("struct A { virtual void f(); };\nvoid A::f() {}", [], "imports", "_ZTV"),
    "starts": ("int g();\nint f = g();", [], "imports", "static constructor"),
    "state": ("int f = 1;", [], "imports", "writable data"),
    "foreign": ("int helper(int x) { return x; }", [], "exports", "helper"),
    "other_flatbuffers": ("namespace flatbuffers { int verify(int x) { return x; } }", [], "exports", "verify"),
    "foreign_c": ("extern \"C\" int stbi_load(int x) { return x; }", [], "exports", "stbi_load"),
    "ours": ("namespace intaglio { int f(int x) { return x; } }\nextern \"C\" int itg_f(int x) { return x; }", [],
             "exports", None),
    "private": ("static int g(int x) { return x; }\nnamespace itg_flatbuffers { int f(int x) { return g(x); } }", [],
                "exports", None),
    "copies": ("#include <string.h>\nvoid f(char* a, const char* b) { memcpy(a, b, strlen(b)); }", [], "imports", None),
    "weak_avx2": ("inline int g(int x) { return x * x; }\nint f(int x) { return g(x); }", ["-O0"], "isa", "weak symbol"),
    "wide_avx2": ("void f(float* x) { for (int i = 0; i < 64; ++i) x[i] += 1; }", ["-mavx2"], "isa", None),
    "wide": ("void f(float* x) { for (int i = 0; i < 64; ++i) x[i] += 1; }", ["-mavx2"], "isa", "wide: "),
    "shifts": ("unsigned f(unsigned x, int n) { return x << n; }", ["-mbmi2"], "isa", "shlx"),
    "dots": ("#include <arm_neon.h>\nint32x4_t f(int32x4_t a, int8x16_t b) { return vdotq_s32(a, b, b); }",
             ["-march=armv8.2-a+dotprod"], "isa", "dots: "),
    "dots_neondot": ("#include <arm_neon.h>\nint32x4_t f(int32x4_t a, int8x16_t b) { return vdotq_s32(a, b, b); }",
                     ["-march=armv8.2-a+dotprod"], "isa", None),
    "weak_neon": ("inline int g(int x) { return x * x; }\nint f(int x) { return g(x); }", ["-O0"], "isa", "weak symbol"),
    "plain": ("void f(float* x) { for (int i = 0; i < 64; ++i) x[i] += 1; }", [], "isa", None),
}


# The planted instruction sets of each machine, as compilers name it.
MACHINES = {"x86_64": ("weak_avx2", "wide_avx2", "wide", "shifts"), "aarch64": ("dots", "dots_neondot", "weak_neon"),
            "arm": ("weak_neon",)}


def self_test(compiler):
    failures = 0
    machine = subprocess.run([compiler, "-dumpmachine"], capture_output=True, text=True).stdout
    with tempfile.TemporaryDirectory() as folder:
        for name, (text, flags, check, expected) in PLANTED.items():
            here = next((isa for isa in MACHINES if machine.startswith(isa)), "")
            if check == "isa" and name not in ("plain",) and name not in MACHINES.get(here, ()):
                continue
            source, target = pathlib.Path(folder, name + ".cc"), pathlib.Path(folder, name + ".o")
            source.write_text(text + "\n", encoding="utf-8")
            subprocess.run([compiler, "-O2", "-ftree-vectorize", *flags, "-c", source, "-o", target], check=True)
            checks = {"imports": lambda: check_imports(str(target), []), "exports": lambda: check_exports([str(target)]),
                      "isa": lambda: check_isa([str(target)], ["avx2", "neon", "neondot"])}
            found = checks[check]()[0]
            good = not found if expected is None else any(expected in text for text in found)
            if not good:
                failures += 1
                print(f"{name}: expected {expected or 'nothing'}, found {found}")
    print(f"{len(PLANTED)} planted, {failures} not as expected")
    return 1 if failures else 0


def main(arguments):
    if arguments[0] == "--self-test":
        return self_test(arguments[1])
    if arguments[0] == "imports":
        found, count = check_imports(arguments[1], arguments[2:])
    elif arguments[0] == "exports":
        found, count = check_exports(arguments[1:])
    else:
        found, count = check_isa(arguments[3:], [isa for isa in arguments[2].split(",") if isa])
    for text in found:
        print(text)
    return 1 if found or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
