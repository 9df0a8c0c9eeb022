#!/usr/bin/env python3
"""Law of inner loops: those of the products hold no vector on the stack.

  loop_law.py --isas neon,... ARCHIVE   the innermost loops of objects named gemm_*_<isa> in which at least every
                                        fourth instruction multiplies vectors; of matmul_*_<isa>, every twelfth; of
                                        dwconv_*_<isa>, every eighth, where there are 32 registers: no vector is
                                        written to the stack there, but for those of MEASURED
  loop_law.py --self-test COMPILER      plants a loop that does, and one that does not

OBJDUMP in the environment names the tool.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

MULTIPLY = {
    "x86-64": re.compile(r"v?(pdp\w+|pmadd\w+|pmul\w+|fn?m(add|sub)\w+|mul[ps]s)"),
    "aarch64": re.compile(r"[su]dot|[su]mmla|[su]ml[as]l2?|[su]mull2?|fml[as]|mla|mul"),
    "arm": re.compile(r"v(ml[as]l?|mull?|fma)\.\w+"),
}
# Moves between the stack and registers that hold vectors (on ARMv7 also single floats, the accumulators there).
STACK = {
    "x86-64": re.compile(r"\(%rsp[,)].*%[xyz]mm|%[xyz]mm.*\(%rsp[,)]"),
    "aarch64": re.compile(r"(ld|st)\S*\s+\{?[vqds]\d+\b.*\[sp\b"),
    "arm": re.compile(r"v(ld|st)\S*\s.*\[sp\b|v(ld|st)m\S*\s+sp\b"),
}
WRITTEN = {
    "x86-64": re.compile(r".*%[xyz]mm\d+,\s*\S*\(%rsp[,)]"), "aarch64": re.compile(r"st\S*\s+\{?[vq]\d+\b.*\[sp\b"),
}
# The four lines of three columns and their sums are more than 16 registers.
SIXTEEN = ["avx2", "avxvnni"]
# Loops that were counted and are better with so many stores than any form without: two lines of 16 channels, three columns
# of output. 0.60 instructions a multiplication instead of 0.70, and 0.43 instead of 0.60 with dot products.
MEASURED = {
    ("dwconv_3x3_s8_neon", "run_whole_linesINS0_7Lines16ELi16ELi2ELi1E"): 9,
    ("dwconv_3x3_s8_neondot", "run_whole_linesINS0_6Dots16ELi16ELi2ELi1E"): 4,
}
VECTOR = {
    "x86-64": re.compile(r"%[xyz]mm"), "aarch64": re.compile(r"\bv\d+\."), "arm": re.compile(r"\b[qds]\d+\b"),
}
LEAVES = re.compile(r"(jmp|b(\.[nw])?|bx|br|ret)\b|(pop|ldm)\S*\s.*\bpc\b")  # what never goes on to the next instruction
FORMATS = {"elf64-x86-64": "x86-64", "elf64-littleaarch64": "aarch64", "elf32-littlearm": "arm"}
BRANCH = re.compile(r"(?:j\w+|b(?:\.?[a-z]{2})?(?:\.[nw])?|t?bn?z|cbn?z|tbn?z)\s+(?:\S+,\s*)*([0-9a-f]+)\s+<")


def functions(archive):
    """(object, function, machine, [(address, instruction)]) of an archive or object."""
    command = [os.environ.get("OBJDUMP", "objdump"), "-d", "-w", "--no-show-raw-insn", archive]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: {done.stderr.strip()}")
    member, machine, name, code = archive, "", "", []
    for line in done.stdout.splitlines():
        if "file format" in line or line.endswith(">:"):
            if code:
                yield member, name, machine, code
            code = []
            if "file format" in line:
                member, file_format = line.split(":")[0], line.split()[-1]
                machine = FORMATS.get(file_format, "")
            else:
                name = line.split("<")[-1][:-2]
            continue
        address, tab, instruction = line.partition(":\t")
        if tab and re.fullmatch(r"\s*[0-9a-f]+", address):
            code.append((int(address, 16), instruction.replace("\t", " ").strip()))
    if code:
        yield member, name, machine, code


def inner_loops(code):
    """The innermost loops, as lists of instructions: what leads from the target of a branch back to that branch. What a compiler
    lays between the two, and that leaves the loop (a return, say), is none of it."""
    spans, before = [], {}
    for (address, instruction), (following, _) in zip(code, code[1:] + [(None, "")]):
        if not LEAVES.match(instruction):
            before.setdefault(following, []).append(address)
        match = BRANCH.match(instruction)
        if match:
            target = int(match.group(1), 16)
            before.setdefault(target, []).append(address)
            if code[0][0] <= target <= address:
                spans.append((target, address))
    for start, end in spans:
        if any((s, e) != (start, end) and start <= s and e <= end for s, e in spans):
            continue
        loop, left = {start}, [end]
        while left:
            address = left.pop()
            if address not in loop and start <= address <= end:
                loop.add(address)
                left += before.get(address, [])
        yield [instruction for address, instruction in code if address in loop]


def check(archive, isas):
    found, count = [], {}
    for member, function, machine, code in functions(archive):
        stem = pathlib.PurePath(member).name.split(".")[0]
        family, isa = stem.split("_")[0], stem.split("_")[-1]
        if machine == "" or isa not in isas:
            continue
        if family in ("gemm", "matmul"):
            share, forbidden = 4 if family == "gemm" else 12, STACK[machine]
        elif family == "dwconv" and machine in WRITTEN and isa not in SIXTEEN:
            share, forbidden = 8, WRITTEN[machine]
        else:
            continue
        for loop in inner_loops(code):
            multiplications = [i for i in loop if MULTIPLY[machine].match(i) and VECTOR[machine].search(i)]
            if not multiplications or share * len(multiplications) < len(loop):
                continue
            count[stem] = count.get(stem, 0) + 1
            stores = [f"{stem}: {function}: {i}" for i in loop if forbidden.search(i)]
            most = sum(n for (of, name), n in MEASURED.items() if of == stem and name in function)
            found += stores if len(stores) > most else []
    print(f"inner loops: {', '.join(f'{stem} {n}' for stem, n in sorted(count.items()))}")
    return found, sum(count.values())


LOOP = """
typedef int Four __attribute__((vector_size(16)));
Four f(const Four* x, int n) {{
  Four sum = x[0];
  {kind} Four kept = sum;
  for (int i = 0; i < n; ++i) {{
    const Four square = x[i] * x[i];
    kept = sum * kept * square;
    sum *= square * square;
  }}
  return sum + kept;
}}
"""


# The return between a loop's halves is not in the loop.
LISTING = [(0, "ldr q1, [x0]"), (4, "cbz x1, 10 <f>"), (8, "ldp d8, d9, [sp]"), (12, "ret"), (16, "fmla v0.4s, v1.4s, v1.4s"),
           (20, "b.ne 0 <f>")]


def self_test(compiler):
    failures = 0
    if [len(loop) for loop in inner_loops(LISTING)] != [4]:
        failures += 1
        print(f"a return in a loop's span: {list(inner_loops(LISTING))}")
    machine = subprocess.run([compiler, "-dumpmachine"], capture_output=True, text=True).stdout
    flags = ["-msse4.1"] if machine.startswith(("x86_64", "amd64")) else []
    flags = ["-march=armv7-a", "-mfpu=neon-vfpv4"] if machine.startswith("arm-") else flags
    with tempfile.TemporaryDirectory() as folder:
        for kind, expected in (("volatile", True), ("", False)):
            for family in ("gemm", "matmul", "dwconv"):
                source, target = pathlib.Path(folder, "f.cc"), pathlib.Path(folder, f"{family}_planted.o")
                source.write_text(LOOP.format(kind=kind), encoding="utf-8")
                subprocess.run([compiler, "-O2", *flags, "-c", source, "-o", target], check=True)
                found, count = check(str(target), ["planted"])
                if family == "dwconv" and machine.startswith("arm"):
                    continue
                if count != 1 or bool(found) != expected:
                    failures += 1
                    print(f"{family}, {kind or 'plain'}: {count} loops, found {found}")
    print(f"7 planted, {failures} not as expected")
    return 1 if failures else 0


def main(arguments):
    if arguments[0] == "--self-test":
        return self_test(arguments[1])
    found, count = check(arguments[2], [isa for isa in arguments[1].split(",") if isa])
    for text in found:
        print(text)
    return 1 if found or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
