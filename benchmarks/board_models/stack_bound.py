#!/usr/bin/env python3
"""The deepest stack that a linked Cortex-M program can need from a function on, read from its disassembly.

  stack_bound.py --objdump arm-none-eabi-objdump PROGRAM.elf [--function main]

Frames are what each function takes from the stack pointer, as -fstack-usage counts them, but after linking. A call
through a pointer goes to the deepest function that it can mean: from a session to what an operator's table names (its
plan where the session plans, the others where not), from there to any other function of the library whose address is
taken, and once more from there (a loop's body to its kernel). Fails at recursion and at frames whose size is not a
constant.
"""
import argparse
import collections
import pathlib
import re
import struct
import subprocess
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "instruction_count"))
from register_list import registers  # noqa: E402

OPERATOR = re.compile(r"^intaglio::k\w+(S8|F32)(Run)?$")  # the tables of runtime/ops
POINTER_DEPTH = 3  # operator, body of a loop, kernel

Function = collections.namedtuple("Function", "name frame calls through_pointer")


def taken(name, mnemonic, operands):
    """Bytes by which an instruction lowers the stack pointer."""
    if re.match(r"push|stmdb|vpush|vstmdb", mnemonic):
        listed = re.match(r"(?:sp!, )?\{(.*)\}", operands)
        return registers(listed.group(1)) * (8 if listed.group(1).startswith("d") else 4) if listed else 0
    if re.match(r"subw?(\.w)?$", mnemonic) and re.match(r"sp\b", operands):
        constant = re.search(r"#(\d+)", operands)
        if not constant:
            sys.exit(f"{name}: a frame of no constant size: {mnemonic} {operands}")
        return int(constant.group(1))
    pushed = re.search(r"\[sp, #-(\d+)\]!", operands)
    return int(pushed.group(1)) if pushed and mnemonic.startswith("str") else 0


def disassembled(objdump, program):
    """Functions by address, and words that stand between instructions, by address."""
    lines = subprocess.run([objdump, "-dC", "--no-show-raw-insn", program], capture_output=True, text=True,
                           check=True).stdout.splitlines()
    starts = {int(m.group(1), 16): m.group(2) for m in (re.match(r"([0-9a-f]+) <(.*)>:$", line) for line in lines) if m}
    functions, words, at = {}, {}, None
    for line in lines:
        if m := re.match(r"([0-9a-f]+) <.*>:$", line):
            at = int(m.group(1), 16)
            functions[at] = Function(starts[at], [0], set(), [False])
        elif at is not None and (m := re.match(r"\s*[0-9a-f]+:\t(\S+)\s*(.*)", line)):
            mnemonic, operands = m.groups()
            if mnemonic == ".word":
                words[int(line.split(":")[0], 16)] = int(operands.split()[0], 16)
                continue
            functions[at].frame[0] += taken(starts[at], mnemonic, operands)
            if (mnemonic.startswith("blx") or mnemonic == "bx") and re.match(r"r\d+|ip", operands):
                functions[at].through_pointer[0] = True
            elif mnemonic.startswith("b") and (target := re.match(r"([0-9a-f]+) <", operands)):
                if int(target.group(1), 16) in starts and int(target.group(1), 16) != at:
                    functions[at].calls.add(int(target.group(1), 16))
    return functions, words


def pointed_to(objdump, program, functions, words):
    """Addresses of functions that a session calls through pointers, and of others that stand as data."""
    with open(program, "rb") as file:
        elf = file.read()
    offset, = struct.unpack_from("<I", elf, 32)
    size, count = struct.unpack_from("<HH", elf, 46)
    sections = [struct.unpack_from("<III", elf, offset + i * size + 12) for i in range(count)]  # address, place, bytes
    symbols = subprocess.run([objdump, "-tC", program], capture_output=True, text=True, check=True).stdout
    words, tables = dict(words), set()
    for start, bytes_, name in re.findall(r"^([0-9a-f]+) .{6}O \.text\t([0-9a-f]+) (?:\.hidden )?(.+)$", symbols, re.MULTILINE):
        start, bytes_ = int(start, 16), int(bytes_, 16)
        for address, at, length in sections:
            if address <= start and start + bytes_ <= address + length and "intaglio::" in name:
                inside = range(start, start + bytes_ - 3, 4)
                words.update((i, struct.unpack_from("<I", elf, at + i - address)[0]) for i in inside)
                tables.update(inside if OPERATOR.match(name) else ())
    if not tables:
        sys.exit(f"{program}: holds no operator's table")
    by_session, others = set(), set()
    for address, word in words.items():
        if word - 1 in functions and re.search("intaglio::|8intaglio", functions[word - 1].name):  # not the start-up code; some names stay mangled
            of_session = address in tables or functions[word - 1].name.startswith("intaglio::Session::")
            (by_session if of_session else others).add(word - 1)
    return by_session, others - by_session


def bound(functions, by_session, others, first):
    known = {}

    def meant(f, level):
        if level > 0:
            return others
        plans = "plan_node" in f.name
        return [callee for callee in by_session if ("PlanContext" in functions[callee].name) == plans]

    def depth(address, level, path):
        if address in path:
            sys.exit(f"{functions[address].name}: calls itself")
        if (address, level) not in known:
            f, below = functions[address], 0
            for callee in f.calls:
                below = max(below, depth(callee, level, path | {address}))
            if f.through_pointer[0] and level < POINTER_DEPTH:
                for callee in meant(f, level):
                    below = max(below, depth(callee, level + 1, frozenset()))
            known[address, level] = f.frame[0] + below
        return known[address, level]

    return depth(first, 0, frozenset())


def stack_bound(objdump, program, function="main"):
    functions, words = disassembled(objdump, program)
    first = [address for address, f in functions.items() if f.name == function]
    if len(first) != 1:
        sys.exit(f"{program}: {len(first)} functions are named {function}")
    return bound(functions, *pointed_to(objdump, program, functions, words), first[0])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--objdump", default="arm-none-eabi-objdump")
    parser.add_argument("--function", default="main")
    arguments = parser.parse_args()
    print("stack at most", stack_bound(arguments.objdump, arguments.program, arguments.function))


if __name__ == "__main__":
    main()
