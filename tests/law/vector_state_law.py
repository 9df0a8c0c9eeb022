#!/usr/bin/env python3
"""Law of vectors on x86-64: no function returns with the upper halves of vectors in use. The SSE code behind it would wait
some 100 ns at each change between the two, on Intel's CPUs. gcc forgets vzeroupper in a function that has a vector as
parameter and is not inlined.

  vector_state_law.py PROGRAM      linked, so that calls name functions
  vector_state_law.py --self-test

OBJDUMP in the environment names the tool.
"""
import re
import sys

import law_run

WRITES = re.compile(r"(?:,|\s)%[yz]mm(?:\d|1[0-5])(?:\{.*)?$")  # the last operand; 16 and above have no SSE half
TARGET = re.compile(r"\b([0-9a-f]+) <")


def functions(lines):
    """{address: (name, [(address, instruction)])}"""
    found, body = {}, None
    for line in lines:
        start = re.match(r"([0-9a-f]+) <(.*)>:$", line)
        parts = line.split("\t")
        if start:
            body = []
            found[int(start.group(1), 16)] = (start.group(2), body)
        elif body is not None and len(parts) > 1:
            body.append((int(parts[0].strip().rstrip(":"), 16), parts[1].split("#")[0].strip()))
    return found


def leaves_in_use(body, leaks):
    """Whether some path ends with them in use; `leaks`: the addresses of functions that do."""
    places = {address: place for place, (address, _) in enumerate(body)}
    seen, paths = {}, [(0, False)]
    while paths:
        place, in_use = paths.pop()
        while place < len(body) and not (place in seen and seen[place] >= in_use):
            seen[place] = in_use
            instruction = body[place][1]
            mnemonic = instruction.split(" ")[0]
            match = TARGET.search(instruction)
            target = int(match.group(1), 16) if match else None
            if mnemonic in ("vzeroupper", "vzeroall"):
                in_use = False
            elif mnemonic.startswith("v") and WRITES.search(instruction):
                in_use = True
            elif mnemonic.startswith("call"):
                in_use = target in leaks
            elif mnemonic.startswith("ret"):
                if in_use:
                    return True
                break
            elif mnemonic.startswith("j"):
                if target in places:
                    paths.append((places[target], in_use))
                elif target in leaks:
                    return True
                if mnemonic == "jmp":
                    break
            place += 1
    return False


def check(lines):
    """[violation], how many functions have vectors of more than 128 bits"""
    wide = {start: (name, body) for start, (name, body) in functions(lines).items()
            if any(re.search(r"%[yz]mm", instruction) for _, instruction in body)}
    leaks, before = set(), None
    while before != len(leaks):
        before = len(leaks)
        leaks |= {start for start, (_, body) in wide.items() if start not in leaks and leaves_in_use(body, leaks)}
    found = sorted(f"{wide[start][0]}: returns with the upper halves of vectors in use" for start in leaks)
    return found if wide else ["no function has vectors of more than 128 bits"], len(wide)


def self_test():
    def function(address, *instructions):
        return [f"{address:016x} <f{address}>:", *(f"  {address + i:x}:\t{text}" for i, text in enumerate(instructions))]
    adds, clears = "vaddps %ymm0,%ymm1,%ymm2", "vzeroupper"
    good = [function(16, adds, clears, "ret"), function(16, adds, "je     13 <f16+0x3>", clears, clears, "ret"),
            function(16, adds, clears, "call   20 <f32>", "ret") + function(32, adds, clears, "ret"),
            function(16, "vmovdqa64 %zmm17,%zmm16", "vmovups %ymm17,(%rax)", "ret"), function(16, adds, "call   99 <other>", "ret")]
    bad = [function(16, adds, "ret"), function(16, adds, "je     13 <f16+0x3>", clears, "ret"),
           function(16, adds, clears, "jmp    20 <f32>") + function(32, adds, "ret"),
           function(16, "vmovups (%rax),%zmm3{%k1}{z}", "ret"), function(16, clears, "call   20 <f32>", "ret") + function(32, adds, "ret")]
    wrong = sum(1 for lines in good if check(lines)[0]) + sum(1 for lines in bad if not check(lines)[0])
    print(f"{len(good) + len(bad)} planted, {wrong} not as expected")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(law_run.run_disassembled(sys.argv[1:], check, self_test, "functions with vectors of more than 128 bits"))
