#!/usr/bin/env python3
"""Cycles of a Cortex-M by its documented timings (the technical reference manuals of M4, M3 and M0+, section 3.3; the M7's are
cortex_m7_issue.py), from what qemu executed: for memory without wait states, or with --chip for that chip's flash and its cache.

  cortex_m_cycles.py --cpu cortex-m4 [--chip stm32l4r5] --plugin instruction_plugin.so
                     --emulator "qemu-system-arm;-M;...;-kernel" PROGRAM_1 PROGRAM_2

Prints the second program's cycles less the first one's (programs that differ by one run), by class of instruction with
--classes. An estimate: what the manual gives as a range stands at one value (CORES), and it says nothing of the
floating-point unit's results that the next instruction waits for. A Cortex-M0+ is taken with the multiplier of one cycle.
--known prints what published programs took beside what these rules give for them, as reviewers counted it.
"""
import argparse
import collections
import re
import subprocess
import sys

from cortex_m7_issue import issue_cycles
from register_list import registers

# refill: of the pipeline, behind what does not go on to the next instruction; of a POP that returns, the cycles besides. Issues two:
# cortex_m7_issue.py says the rest. Is pipelined: a load or a store directly behind another takes one cycle, and the write buffer has a store alone; else each takes
# two. cycles: of mnemonics, where they are not one, refill not counted; the first that fits.
Core = collections.namedtuple("Core", "refill pop_return is_pipelined cycles issues_two", defaults=(False,))
M3_CYCLES = (("tb", 2), (r"[su]div", 7))  # refill is 1 to 3 there, a division 2 to 12
CORES = {
    "cortex-m4": Core(2, 0, True, (*M3_CYCLES, (r"v(div|sqrt)", 14), (r"v(mla|mls|nml|fma|fms|fnm)", 3))),
    "cortex-m7": Core(1, 0, True, (), True),
    "cortex-m3": Core(2, 0, True, (*M3_CYCLES, (r"ml[as]", 2), (r"[su]m(ul|la)l", 4))),  # the last 3 to 7
    "cortex-m0plus": Core(1, 1, False, (("bl$", 2), (r"mrs|msr|dmb|dsb|isb", 3))),
}
CORES["cortex-m33"] = CORES["cortex-m4"]  # Arm publishes no timings of it
# A flash below FLASH_END, read through a cache for code and one for data, in lines of so many bytes, the least recently used one
# replaced. A miss takes the wait states: one more for each `step` of the clock. No lines of code: fetches come in time. No lines of
# data: each read waits. What crosses a word takes one more.
#   stm32l4r5  reference manual RM0432, 3.3.4: 1 KB for code, 256 bytes for data, five wait states at 120 MHz, 128 bits with one bank
#   stm32h7a3  RM0455: 16 KB each; a line of 32 bytes is two reads. Ten cycles at 280 MHz fit ST's anomaly detection (known())
#   stm32g0b1  RM0444: two wait states at 64 MHz, fetches ahead, none of data
#   stm32u575  RM0456: 8 KB for both, taken as 4 and 4; four wait states at 160 MHz; ST's figures for Cortex-M33 are of it
Chip = collections.namedtuple("Chip", "core mhz step line code_lines data_lines")
CHIPS = {
    "stm32l4r5": Chip("cortex-m4", 120, 20, 16, 64, 16),
    "stm32h7a3": Chip("cortex-m7", 280, 26, 32, 512, 512),
    "stm32g0b1": Chip("cortex-m0plus", 64, 24, 8, 0, 0),
    "stm32u575": Chip("cortex-m33", 160, 32, 16, 256, 256),
}
FLASH_END = 0x20000000
OF_CHIP = ("flash, code", "flash, data", "across words")  # classes of cycles that a core without wait states has not
LOADS = re.compile(r"v?ldr(?!e)|ldr$")
STORES = re.compile(r"v?str(?!e)")
MULTIPLE = re.compile(r"(ldm|stm|push|pop|vldm|vstm|vpush|vpop|ldrd|strd)")
CONDITION = r"(eq|ne|cs|cc|mi|pl|vs|vc|hi|ls|ge|lt|gt|le|hs|lo)?(\.[nw])?$"
BRANCH = re.compile(r"(b|bl|bx|blx|cbz|cbnz|tbb|tbh)" + CONDITION)

Instruction = collections.namedtuple("Instruction", "mnemonic operands size")

# Million cycles that were published of programs, and what these rules give for the same programs: ST's X-CUBE-AI 9.0 and 10.2 in
# MLPerf Tiny, Bosch's HALE on M0+. Reviewers executed the published programs and counted them so; the programs are not ours to have.
# Published, by the core alone, with the chip's flash (None: not counted).
Known = collections.namedtuple("Known", "program published core flash", defaults=(None,))
KNOWN = {
    "stm32l4r5": (Known("ST 10.2 IC", 19.88, 19.59, 19.84), Known("ST 10.2 VWW", 10.73, 10.17, 10.49),
                  Known("ST 10.2 KWS", 5.21, 5.05, 5.16), Known("ST 10.2 AD", 0.575, 0.489, 0.581),
                  Known("ST 9.0 IC", 19.82, 19.59, 19.84), Known("ST 9.0 VWW", 10.67, 10.19, 10.50),
                  Known("ST 9.0 KWS", 5.18, 5.04, 5.16), Known("ST 9.0 AD", 0.631, 0.518, 0.610)),
    # AD with 264 192 bytes of weights through the cache once: 8 256 lines.
    "stm32h7a3": (Known("ST 9.0 IC", 11.44, 12.05), Known("ST 9.0 VWW", 6.67, 6.52), Known("ST 9.0 KWS", 3.17, 3.11),
                  Known("ST 9.0 AD", 0.343, 0.254, 0.337)),
    "stm32g0b1": (Known("HALE IC", 97.4, 94.7), Known("HALE VWW", 90.5, 84.2), Known("HALE KWS", 30.4, 28.9),
                  Known("HALE AD", 2.62, 2.07)),
    # Published of Cortex-M33, by the M4's rules of the same vendor's programs for the M4.
    "stm32u575": (Known("ST 10.2 IC", 17.5, 19.59, 19.84), Known("ST 10.2 VWW", 9.48, 10.17, 10.49),
                  Known("ST 10.2 KWS", 4.64, 5.05, 5.16), Known("ST 10.2 AD", 0.51, 0.489, 0.581)),
}


def wait_states(chip, mhz):
    return max(0, -(-mhz // chip.step) - 1)


def known_errors(chip, flash=True):
    """In percent, of the known programs of a chip; with its flash where that was counted."""
    return [100 * ((flash and one.flash or one.core) / one.published - 1) for one in KNOWN[chip]]


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


def flash_options(chip):
    if chip is None:
        return ""
    return f",flash={FLASH_END:x},line={chip.line},code={chip.code_lines},data={chip.data_lines}"


def executed(emulator, options, program):
    """What the plugin wrote of a run."""
    output = subprocess.run([emulator[0], "-plugin", options, "-d", "plugin", *emulator[1:], program], capture_output=True, text=True)
    if output.returncode != 0:
        sys.exit(f"{program}: {output.returncode}: {output.stderr[-500:]}")
    return output.stdout + output.stderr


class Program:
    """The instructions of a program, and the cycles of its runs of instructions, each found once."""

    def __init__(self, objdump, program, core):
        self.code, self.core, self.found = disassembled(objdump, program), core, {}

    def cycles_of(self, start, end):
        """By class, of instructions in a straight line."""
        if (start, end) in self.found:
            return self.found[start, end]
        line, cycles, at = [], collections.Counter(), start
        while at < end:
            instruction = self.code[at]
            at += instruction.size
            if at <= end:  # else it crosses a page: the next block has it
                line.append(instruction)
        if self.core.issues_two:
            cycles["two a cycle"] = issue_cycles(line, class_of)
        else:
            for before, instruction, behind in zip([None, *line], line, [*line[1:], None]):
                kind = class_of(instruction)
                cycles[kind] += cost(self.core, instruction, kind, before, behind)
        self.found[start, end] = cycles
        return cycles


def cycles_of(program, chip, text):
    """Cycles by class, of what the plugin wrote."""
    cycles = collections.Counter()
    for start, end, count, taken in re.findall(r"^block (\w+) (\w+) (\d+) (\d+)$", text, re.MULTILINE):
        for kind, each in program.cycles_of(int(start, 16), int(end, 16)).items():
            cycles[kind] += int(count) * each
        cycles["refill"] += int(taken) * program.core.refill
    for code_misses, data_misses, split in re.findall(r"^flash (\d+) (\d+) (\d+)$", text, re.MULTILINE):
        waits = wait_states(chip, chip.mhz)
        cycles.update(dict(zip(OF_CHIP, (int(code_misses) * waits, int(data_misses) * waits, int(split)))))
    return cycles


def cycles_of_a_run(cpu, emulator, plugin, objdump, programs, chip=None):
    chip = CHIPS[chip] if chip else None
    first, second = (cycles_of(Program(objdump, program, CORES[cpu]), chip,
                               executed(emulator, f"{plugin},blocks=on{flash_options(chip)}", program)) for program in programs)
    return collections.Counter({kind: second[kind] - first[kind] for kind in second})


class PrintKnown(argparse.Action):
    def __call__(self, parser, *_):
        for chip, programs in KNOWN.items():
            for one, percent in zip(programs, known_errors(chip)):
                print(f"{chip:10} {one.program:12} {one.published:8.3f} {one.flash or one.core:8.3f} {percent:+5.1f} %")
        parser.exit()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs=2)
    parser.add_argument("--cpu", required=True, choices=CORES)
    parser.add_argument("--chip", choices=CHIPS)
    parser.add_argument("--plugin", required=True)
    parser.add_argument("--emulator", required=True)
    parser.add_argument("--objdump", default="arm-none-eabi-objdump")
    parser.add_argument("--classes", action="store_true")
    parser.add_argument("--known", action=PrintKnown, nargs=0)
    arguments = parser.parse_args()
    cycles = cycles_of_a_run(arguments.cpu, arguments.emulator.split(";"), arguments.plugin, arguments.objdump, arguments.programs,
                             arguments.chip)
    print("cycles", sum(cycles.values()))
    if arguments.classes:
        for kind, count in cycles.most_common():
            print(f"{count:12} {kind}")


if __name__ == "__main__":
    main()
