#!/usr/bin/env python3
"""Estimated cycles of in-order Cortex-A53 and A55, from a trace of instruction_plugin.c.

  in_order_model.py TRACE [--core NAME] [--functions]     TRACE.runs stands beside it (plugin: marks=on,trace=TRACE)
  in_order_model.py --assembly FILE [--core NAME]         a loop in the text of objdump or of an assembler, once it is going
  in_order_model.py --self-test                           published measurements of single instructions and pairs

An estimate, and no measurement: two instructions a cycle where published rules let them pair (in_order_cores.py), each as soon as
what it reads is there. Caches always hit, branches are always foreseen. It is for comparing loops. DISASSEMBLER in the environment
names objdump for AArch64.
"""
import argparse
import array
import collections
import re
import sys

from in_order_cores import CORES, PUBLISHED, PUBLISHED_CHAINS
from in_order_instructions import Instruction, disassemble


class Pipeline:
    """The time of the next issue, what issued already in it, and when each register is ready."""

    def __init__(self, core):
        self.core = core
        self.time = 0
        self.pair = None  # the instruction that issued in this cycle
        self.ready = {}  # register: (cycle, kind of what makes it)
        self.made = {}  # register: the cycle in which that issued
        self.adder = ()  # cycles in which an fmla enters the adder

    def state(self):
        """All that the future depends on, in cycles from now."""
        now = self.time
        return (self.pair, tuple(sorted((r, c - now, k, self.made[r] - now) for r, (c, k) in self.ready.items() if c > now - 3)),
                tuple(c - now for c in self.adder if c >= now))

    def restore(self, state):
        self.time = 0
        self.pair, ready, self.adder = state
        self.ready = {r: (c, k) for r, c, k, _ in ready}
        self.made = {r: m for r, _, _, m in ready}

    def may_pair(self, first, second):
        core = self.core
        if first.alone or second.alone or second.first or first.halves + second.halves > 2:
            return False
        if any(register in first.writes for register in second.writes):
            return False
        if (first.load or first.store) and (second.load or second.store):
            if not core["load_and_store"] or bool(first.load) == bool(second.load):
                return False
        return not (first.branch and second.branch or first.mul and second.mul)

    def issue(self, instruction):
        time = self.time
        ready = self.ready
        delay = self.core["address_delay"]
        for register in instruction.reads:
            if register in ready:
                cycle, kind = ready[register]
                if register == instruction.sum and kind in ("vmul", "vmul+"):
                    cycle -= self.core["latency"]["vmul"] - 1
                if instruction.store:
                    cycle -= 1 if kind == "alu" else self.core["store_reads_late"]
                elif register == instruction.merge:
                    cycle = min(cycle, self.made.get(register, cycle) + 1)
                if register == "flags":
                    cycle -= 1 if kind == "alu" else 0
                time = max(time, cycle)
        for register in instruction.address:
            if register in ready:
                cycle, kind = ready[register]
                time = max(time, cycle + (delay if kind == "alu" else 0))
        if time == self.time and self.pair is not None and not self.may_pair(self.pair, instruction):
            time += 1
        while instruction.vector_load and time in self.adder:
            time += 1
        if time > self.time:
            self.pair = None
            self.time = time
        cycles = max(1, instruction.load, instruction.store) if instruction.alone else 1
        latency = self.core["latency"].get(instruction.kind, 1)
        for index, register in enumerate(instruction.writes):
            after = latency
            kind = instruction.kind
            if instruction.load:
                count = len(instruction.writes)
                if instruction.address and register == instruction.address[0] and index == count - 1 and count > 1:
                    after, kind = 1, "base"
                elif instruction.load > 1:
                    moved = max(1, count - (1 if instruction.address and instruction.writes[-1] == instruction.address[0] else 0))
                    after = latency + (index + 1) * instruction.load // moved - 1
            elif instruction.store:
                after, kind = 1, "base"
            if register == instruction.merge and register in ready:
                ready[register] = (max(time + after, ready[register][0]), kind)
            else:
                ready[register] = (time + after, kind)
            self.made[register] = time
        if instruction.fmla and self.core["fmla_adder"]:
            self.adder = tuple(c for c in self.adder if c > time) + (time + self.core["fmla_adder"],)
        if self.pair is None and cycles == 1 and not instruction.alone:
            self.pair = instruction
        else:
            self.pair = None
            self.time = time + cycles


def read_trace(path):
    runs = [line.rstrip("\n").split(" ", 3) for line in open(f"{path}.runs", encoding="utf-8")]
    numbers = array.array("I")
    with open(path, "rb") as file:
        numbers.frombytes(file.read())
    executed = sorted(set(numbers))
    texts = dict(zip(executed, disassemble([bytes.fromhex(runs[n][2]) for n in executed])))
    return numbers, texts, {n: (int(runs[n][1], 16), runs[n][3]) for n in executed}


def estimate(core, numbers, texts):
    """Cycles of a trace; and {number: (times, cycles)} of its runs of instructions."""
    known = {}
    made = {text: Instruction(text, core) for lines in texts.values() for text in lines}
    blocks = {number: [made[text] for text in lines] for number, lines in texts.items()}
    pipeline = Pipeline(core)
    states, ids = [pipeline.state()], {}
    ids[states[0]] = 0
    state, total = 0, 0
    times, spent = collections.Counter(), collections.Counter()
    for number in numbers:
        key = (number, state)
        found = known.get(key)
        if found is None:
            pipeline.restore(states[state])
            for instruction in blocks[number]:
                pipeline.issue(instruction)
            after = pipeline.state()
            if after not in ids:
                ids[after] = len(states)
                states.append(after)
            found = known[key] = (pipeline.time, ids[after])
        cycles, state = found
        total += cycles
        times[number] += 1
        spent[number] += cycles
    return total, {number: (times[number], spent[number]) for number in times}


def loop_cycles(core, lines, rounds=40):
    """Cycles of a round of a loop, once it is going."""
    pipeline = Pipeline(core)
    code = [Instruction(line, core) for line in lines]
    half = 0
    for i in range(2 * rounds):
        if i == rounds:
            half = pipeline.time
        for instruction in code:
            pipeline.issue(instruction)
    return (pipeline.time - half) / rounds


def print_functions(spent, texts, places):
    """Cycles and instructions by function, or by 512 bytes where a program has no symbols."""
    by_name = collections.defaultdict(lambda: [0, 0])
    for number, (times, taken) in spent.items():
        start, name = places[number]
        entry = by_name[name if name != "?" else f"{start >> 9 << 9:#x}"]
        entry[0] += taken
        entry[1] += times * len(texts[number])
    for name, (taken, executed) in sorted(by_name.items(), key=lambda item: -item[1][0])[:14]:
        print(f"{taken:12} {executed:12} {name}")


def self_test():
    wrong = 0
    for lines, a53, a55 in PUBLISHED:
        for name, published in (("cortex-a53", a53), ("cortex-a55", a55)):
            cycles = loop_cycles(CORES[name], lines)
            if published is not None and cycles != published:
                wrong += 1
                print(f"{name}: {cycles} cycles, published {published}: {'; '.join(lines)}")
    for lines, published in PUBLISHED_CHAINS:
        pipeline = Pipeline(CORES["cortex-a53"])
        for line in lines:
            pipeline.issue(Instruction(line, CORES["cortex-a53"]))
        cycles = pipeline.time + (1 if pipeline.pair is not None else 0)
        if cycles != published:
            wrong += 1
            print(f"chain: {cycles} cycles, published {published}: {'; '.join(lines)}")
    print(f"{len(PUBLISHED) + len(PUBLISHED_CHAINS)} published cases, {wrong} wrong")
    return 1 if wrong else 0


def assembly_of(path):
    lines = []
    for line in open(path, encoding="utf-8"):
        line = re.sub(r"^\s*[0-9a-f]+:\s+([0-9a-f]{8}\s+)?", "", line.split("//")[0]).strip()
        if line and not line.endswith(":") and not line.startswith((".", "#")):
            lines.append(" ".join(line.split()))
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trace", nargs="?")
    parser.add_argument("--core", action="append", choices=list(CORES))
    parser.add_argument("--assembly")
    parser.add_argument("--functions", action="store_true", help="cycles by function, or by page where a program has no symbols")
    parser.add_argument("--self-test", action="store_true")
    arguments = parser.parse_args()
    if arguments.self_test:
        return self_test()
    cores = arguments.core or list(CORES)
    if arguments.assembly:
        lines = assembly_of(arguments.assembly)
        for core in cores:
            print(f"{core}: {loop_cycles(CORES[core], lines):.2f} cycles, {len(lines)} instructions")
        return 0
    if not arguments.trace:
        parser.error("a trace, --assembly or --self-test")
    numbers, texts, places = read_trace(arguments.trace)
    count = sum(len(texts[n]) for n in numbers)
    for core in cores:
        cycles, spent = estimate(CORES[core], numbers, texts)
        print(f"{core}: {cycles} cycles, {count} instructions")
        if arguments.functions:
            print_functions(spent, texts, places)
    return 0


if __name__ == "__main__":
    sys.exit(main())
