#!/usr/bin/env python3
"""Cycles of a Cortex-M by its documented timings (the technical reference manuals of M4, M3 and M0+, section 3.3), from what
qemu executed: for memory without wait states, or with --chip for that chip's flash and its cache.

  cortex_m_cycles.py --cpu cortex-m4 [--chip stm32l4r5] --plugin instruction_plugin.so
                     --emulator "qemu-system-arm;-M;...;-kernel" PROGRAM_1 PROGRAM_2

Prints the second program's cycles less the first one's (programs that differ by one run), by class of instruction with
--classes. An estimate: what the manual gives as a range stands at one value (CORES), and it says nothing of the
floating-point unit's results that the next instruction waits for. A Cortex-M0+ is taken with the multiplier of one cycle.
"""
import argparse
import collections
import re
import subprocess
import sys

from register_list import registers

# refill: of the pipeline, behind what does not go on to the next instruction; of a POP that returns, the cycles besides. Is
# pipelined: a load or a store directly behind another takes one cycle, and the write buffer has a store alone; else each takes
# two. cycles: of mnemonics, where they are not one, refill not counted; the first that fits.
Core = collections.namedtuple("Core", "refill pop_return is_pipelined cycles")
M3_CYCLES = (("tb", 2), (r"[su]div", 7))  # refill is 1 to 3 there, a division 2 to 12
CORES = {
    "cortex-m4": Core(2, 0, True, (*M3_CYCLES, (r"v(div|sqrt)", 14), (r"v(mla|mls|nml|fma|fms|fnm)", 3))),
    "cortex-m3": Core(2, 0, True, (*M3_CYCLES, (r"ml[as]", 2), (r"[su]m(ul|la)l", 4))),  # the last 3 to 7
    "cortex-m0plus": Core(1, 1, False, (("bl$", 2), (r"mrs|msr|dmb|dsb|isb", 3))),
}
# A flash read through a cache for code and one for data, in lines of so many bytes, the least recently used one replaced; a miss
# takes the wait states. What crosses a word takes one more. A program's flash lies below FLASH_END. STM32L4R5 (reference manual
# RM0432, 3.3.4): 1 KB for code, 256 bytes for data, five wait states at 120 MHz, reads of 128 bits with a single bank.
Chip = collections.namedtuple("Chip", "mhz wait_states line code_lines data_lines")
CHIPS = {"stm32l4r5": Chip(120, 5, 16, 64, 16)}
FLASH_END = 0x20000000
OF_CHIP = ("flash, code", "flash, data", "across words")  # classes of cycles that a core without wait states has not
LOADS = re.compile(r"v?ldr(?!e)|ldr$")
STORES = re.compile(r"v?str(?!e)")
MULTIPLE = re.compile(r"(ldm|stm|push|pop|vldm|vstm|vpush|vpop|ldrd|strd)")
CONDITION = r"(eq|ne|cs|cc|mi|pl|vs|vc|hi|ls|ge|lt|gt|le|hs|lo)?(\.[nw])?$"
BRANCH = re.compile(r"(b|bl|bx|blx|cbz|cbnz|tbb|tbh)" + CONDITION)

Instruction = collections.namedtuple("Instruction", "mnemonic operands size")


def disassembled(objdump, program):
    lines = subprocess.run([objdump, "-d", "--no-show-raw-insn", program], capture_output=True, text=True,
                           check=True).stdout.splitlines()
    found = [(int(m.group(1), 16), m.group(2), m.group(3).split("@")[0].strip()) for m in
             (re.match(r"\s*([0-9a-f]+):\t(\S+)\s*(.*)", line) for line in lines) if m]
    ends = [address for address, _, _ in found[1:]] + [0]
    return {address: Instruction(mnemonic, operands, end - address)
            for (address, mnemonic, operands), end in zip(found, ends)}


def class_of(instruction):
    m = instruction.mnemonic
    if BRANCH.match(m):
        return "branch"
    if MULTIPLE.match(m):
        return "several words"
    if LOADS.match(m):
        return "load"
    if STORES.match(m):
        return "store"
    if re.match(r"it[te]*$", m):
        return "it"
    if m.startswith("v"):
        return "floating point"
    if re.match(r"[su]div", m):
        return "division"
    if re.match(r"(mul|mla|mls|sml|smu|smm|uml|smull|umull|umaal)", m):
        return "multiply"
    return "other"


def cost(core, instruction, kind, before, behind):
    """Without the refill of a taken branch. `before` and `behind`: neighbours in a straight line, or None."""
    m, operands = instruction.mnemonic, instruction.operands
    if kind == "several words":
        if m.startswith(("ldrd", "strd")):
            return 3
        words = registers(re.search(r"\{(.*)\}", operands).group(1))
        return 1 + (2 * words if re.search(r"\{d", operands) else words) + core.pop_return * ("pc" in operands)
    if kind in ("load", "store"):
        if not core.is_pipelined:
            return 2
        single = before is not None and class_of(before) in ("load", "store")
        if single:  # it follows at once, unless the one before makes its address
            target = re.match(r"\w+", before.operands).group(0) if class_of(before) == "load" else None
            address = re.search(r"\[(.*?)\]", operands)
            return 2 if target and address and re.search(rf"\b{target}\b", address.group(1)) else 1
        if kind == "store" and (behind is None or class_of(behind) != "load"):
            return 1  # the write buffer has it
        return 2
    if kind == "it":
        return 0 if before is not None and before.size == 2 else 1
    for mnemonics, cycles in core.cycles:
        if re.match(mnemonics, m):
            return cycles
    return 2 if m.startswith("vmov") and operands.count(",") == 3 else 1  # between pairs of registers


def estimate(core, chip, emulator, plugin, objdump, program):
    """Cycles by class."""
    flash = f",flash={FLASH_END:x},line={chip.line},code={chip.code_lines},data={chip.data_lines}" if chip else ""
    output = subprocess.run([emulator[0], "-plugin", f"{plugin},blocks=on{flash}", "-d", "plugin", *emulator[1:],
                             program], capture_output=True, text=True)
    if output.returncode != 0:
        sys.exit(f"{program}: {output.returncode}: {output.stderr[-500:]}")
    code, cycles = disassembled(objdump, program), collections.Counter()
    for start, end, count, taken in re.findall(r"^block (\w+) (\w+) (\d+) (\d+)$", output.stdout + output.stderr,
                                               re.MULTILINE):
        at, end, count, before = int(start, 16), int(end, 16), int(count), None
        while at < end:
            instruction = code[at]
            at += instruction.size
            if at > end:  # it crosses a page: the next block has it
                break
            kind = class_of(instruction)
            behind = code.get(at) if at < end else None
            cycles[kind] += count * cost(core, instruction, kind, before, behind)
            before = instruction
        cycles["refill"] += int(taken) * core.refill
    for code_misses, data_misses, split in re.findall(r"^flash (\d+) (\d+) (\d+)$", output.stdout + output.stderr,
                                                      re.MULTILINE):
        waits = (int(code_misses) * chip.wait_states, int(data_misses) * chip.wait_states, int(split))
        cycles.update(dict(zip(OF_CHIP, waits)))
    return cycles


def cycles_of_a_run(cpu, emulator, plugin, objdump, programs, chip=None):
    first, second = (estimate(CORES[cpu], CHIPS[chip] if chip else None, emulator, plugin, objdump, program)
                     for program in programs)
    return collections.Counter({kind: second[kind] - first[kind] for kind in second})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs=2)
    parser.add_argument("--cpu", required=True, choices=CORES)
    parser.add_argument("--chip", choices=CHIPS)
    parser.add_argument("--plugin", required=True)
    parser.add_argument("--emulator", required=True)
    parser.add_argument("--objdump", default="arm-none-eabi-objdump")
    parser.add_argument("--classes", action="store_true")
    arguments = parser.parse_args()
    cycles = cycles_of_a_run(arguments.cpu, arguments.emulator.split(";"), arguments.plugin, arguments.objdump, arguments.programs,
                             arguments.chip)
    print("cycles", sum(cycles.values()))
    if arguments.classes:
        for kind, count in cycles.most_common():
            print(f"{count:12} {kind}")


if __name__ == "__main__":
    main()
