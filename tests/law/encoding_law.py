#!/usr/bin/env python3
"""Law of encodings: objects *_avx2 and *_avxvnni hold nothing that AVX-512 alone has, and *_avxvnni hold vpdpbusd in
its VEX form. A CPU with AVX-VNNI is not at hand: what is not run is at least read.

  encoding_law.py ARCHIVE
  encoding_law.py --self-test

OBJDUMP in the environment names the tool.
"""
import pathlib
import re
import sys

import law_run

EVEX = re.compile(r"%zmm|%[xy]mm(1[6-9]|2\d|3[01])\b|%k[0-7]\b|\{1to\d+\}")
VEX_DOT = "{vex} vpdpbusd"


def check(lines):
    """[violation], {object: count of VEX dot products}"""
    found, dots, member = [], {}, ""
    for line in lines:
        if "file format" in line:
            member = pathlib.PurePath(line.split(":")[0]).name.split(".")[0]
            if member.endswith("_avxvnni"):
                dots[member] = 0
            continue
        parts = line.split("\t")
        if len(parts) < 2 or not member.endswith(("_avx2", "_avxvnni")):
            continue
        instruction = parts[-1].strip()
        if EVEX.search(instruction) or (instruction.startswith("vpdpbusd")):
            found.append(f"{member}: {instruction}")
        if instruction.startswith(VEX_DOT):
            dots[member] = dots.get(member, 0) + 1
    found += [f"{member}: no {VEX_DOT}" for member, count in dots.items() if count == 0]
    return found, dots


def self_test():
    start = "gemm_avxvnni.cc.o:     file format elf64-x86-64"
    good = [start, "  0:\t{vex} vpdpbusd %ymm0,%ymm1,%ymm2"]
    bad = [[start], [*good, "  4:\tvpdpbusd %ymm0,%ymm1,%ymm2"], [*good, "  4:\tvmovdqu64 %zmm0,(%rax)"],
           [*good, "  4:\tvpaddd %ymm16,%ymm1,%ymm2"], [*good, "  4:\tkmovd %eax,%k1"]]
    wrong = (1 if check(good)[0] else 0) + sum(1 for lines in bad if not check(lines)[0])
    print(f"{len(bad) + 1} planted, {wrong} not as expected")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(law_run.run_disassembled(sys.argv[1:], check, self_test, "VEX dot products, compiled and not run on most machines"))
