#!/usr/bin/env python3
"""What models of cores make of the inner loops of the AArch64 kernels: llvm-mca's of out-of-order cores, ours of in-order ones.

  inner_loops.py ARCHIVE [--mca PROGRAM] [--in-order]

Reads the loops of the products from the disassembly (tests/law/loop_law.py finds them), the longest of each file, and
prints multiply-accumulates a cycle beside what the core can do at most. Fails where a loop falls below 95 % of that.
llvm-mca's models of in-order cores (Cortex-A53, A55) are not asked: they contradict silicon. With --in-order those cores
alone, by in_order_model.py, each with the least share of its own. OBJDUMP names the disassembler.
"""
import argparse
import pathlib
import re
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests" / "law"))
import in_order_model  # noqa: E402
import loop_law  # noqa: E402

# Multiply-accumulates of an instruction.
MACS = [(r"[su]mmla\s", 32), (r"[su]dot\s", 16), (r"[su]m(ull|lal|lsl)2?\s+v\d+\.8h", 8), (r"[su]m(ull|lal|lsl)2?\s+v\d+\.4s", 4),
        (r"fml[as]\s+v\d+\.4s", 4)]
# (file, core of llvm-mca, its peak): the Neoverses have two vector pipes, the Cortex-A72 two of half the width.
CASES = [("gemm_s8_neon", "cortex-a72", 8), ("gemm_s8_neon", "neoverse-n1", 8), ("gemm_s8_neondot", "neoverse-n1", 32),
         ("gemm_s8_neoni8mm", "neoverse-n2", 64), ("gemm_f32_neon", "cortex-a72", 4), ("gemm_f32_neon", "neoverse-n1", 8)]
# (file, a part of the function's name, core, its peak if every cycle multiplied, the least share): what was reached, a little less.
IN_ORDER = [("gemm_s8_neon", "listed_tiles", "cortex-a53", 16 / 3, 0.71), ("gemm_s8_neona53", "tiles_in_order", "cortex-a53", 16 / 3, 0.84),
            ("gemm_s8_neondot", "tilesILi8ELb1", "cortex-a55", 16, 0.61), ("gemm_s8_neona55", "tiles_in_orderILi8", "cortex-a55", 16, 0.96)]
LEAST = 0.95
OLDEST = 16  # has a model of the Neoverse N1 of its own
ITERATIONS = 1000


def find_mca(wanted):
    for name in [wanted] if wanted else [f"llvm-mca-{v}" for v in range(25, OLDEST - 1, -1)] + ["llvm-mca"]:
        path = shutil.which(name)
        if path is None:
            continue
        text = subprocess.run([path, "--version"], capture_output=True, text=True).stdout
        version = re.search(r"version (\d+)", text)
        if version and int(version.group(1)) >= OLDEST:
            return path
    return None


def macs_of(loop):
    return sum(count for i in loop for pattern, count in MACS if re.match(pattern, i))


def rank(loop, dense):
    macs = macs_of(loop)
    if dense and any(re.match(r"b\s", i) for i in loop):  # what stands behind a function's end, and branches back
        return 0, 0
    return (macs / max(1, len(loop)), macs) if dense else (macs, -len(loop))


def longest_loops(archive, only=None):
    """{file: its loop of the most multiply-accumulates}; only: {file: a part of the function's name}"""
    loops = {}
    for member, function, _, code in loop_law.functions(archive):
        stem = pathlib.PurePath(member).name.split(".")[0]
        if only is not None and only.get(stem, "?") not in function:
            continue
        for loop in loop_law.inner_loops(code):
            # The densest, of those that hold as many products; of a function, of all.
            if rank(loop, only) > rank(loops.get(stem, []), only):
                loops[stem] = loop
    return loops


def cycles(mca, core, loop):
    """Of one iteration."""
    text = "loop:\n" + "\n".join(re.sub(r"\s//.*", "", re.sub(r"[0-9a-f]+ <.*", "loop", i)) for i in loop) + "\n"
    command = [mca, "-mtriple=aarch64", f"-mcpu={core}", "-mattr=+dotprod,+i8mm", f"-iterations={ITERATIONS}", "-instruction-info=0"]
    done = subprocess.run(command, input=text, capture_output=True, text=True)
    found = re.search(r"Total Cycles:\s+(\d+)", done.stdout)
    if done.returncode != 0 or not found:
        sys.exit(f"{' '.join(command)}: {done.stderr.strip()}")
    return int(found.group(1)) / ITERATIONS


def in_order(loops):
    missed = 0
    print(f"{'loop of':18} {'core':12} {'instructions':>12} {'cycles':>7} {'MAC a cycle':>12} {'at most':>8} {'share':>6}")
    for stem, _, core, peak, least in IN_ORDER:
        loop = loops[stem]
        taken = in_order_model.loop_cycles(in_order_model.CORES[core], loop)
        share = macs_of(loop) / taken / peak
        missed += share < least
        print(f"{stem:18} {core:12} {len(loop):12} {taken:7.2f} {macs_of(loop) / taken:12.2f} {peak:8.2f} {share:6.3f}{'' if share >= least else f'  below {least}'}")
    return 1 if missed else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("archive")
    parser.add_argument("--mca")
    parser.add_argument("--in-order", action="store_true")
    arguments = parser.parse_args()
    if arguments.in_order:
        return in_order(longest_loops(arguments.archive, {stem: name for stem, name, *_ in IN_ORDER}))
    mca = find_mca(arguments.mca)
    if mca is None:
        print(f"skipped: llvm-mca {OLDEST} or later is missing (Debian: llvm-19)")
        return 0
    loops = longest_loops(arguments.archive)
    missed = 0
    print(f"{'loop of':18} {'core':12} {'instructions':>12} {'cycles':>7} {'MAC a cycle':>12} {'at most':>8} {'share':>6}")
    for stem, core, peak in CASES:
        if stem not in loops:
            sys.exit(f"{arguments.archive}: no loop of products in {stem}")
        loop = loops[stem]
        taken = cycles(mca, core, loop)
        rate = macs_of(loop) / taken
        missed += rate < LEAST * peak
        print(f"{stem:18} {core:12} {len(loop):12} {taken:7.2f} {rate:12.2f} {peak:8} {rate / peak:6.3f}"
              f"{'' if rate >= LEAST * peak else f'  below {LEAST}'}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
