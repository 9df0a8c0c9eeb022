#!/usr/bin/env python3
"""Text of the runtime library and of a program that links it, in bytes, held to a written budget.

  size_budget.py SIZE libintaglio.a PROGRAM EMPTY ISA[,ISA...] [--check]

'one ISA' is the library without the objects of every other one. EMPTY is a program that does nothing: its text is not
ours. --check fails where a figure passes its budget.
"""
import re
import subprocess
import sys

# gcc, -O2 for kernels and -Os for the rest, x86-64. Raise one only with a reason in the commit that does.
# The library has Winograd's tiles since 389 000 and 312 600: programs link them by the lists all_ops() and int8_ops(), or by name.
# It has a camera's frames since 425 000 and 338 000, and GroupedLookup since 436 000 and 349 000: a program that does not call
# them links none of them. Bilinear pictures of few channels have vectors, and shuffles planes, since 430 000, 343 000 and 130 700: five
# times as fast for 1 %. It learns last layers and updates models since 439 500 and 350 600: likewise linked by who calls them. It has
# MaxUnpool2D since 446 000 and 357 600, and FP32 sums in blocks since 448 700 and 361 000: operators of FP32 models alone have them.
# Hosts size the scratch of every target: the M4's kernels that share columns took 45 bytes, a status of rounds 51.
# Outputs that overwrite rows of their input are proved and run since 450 100 and 362 500. Who calls stream_rows() links the 690 bytes of
# proof, and planned models alone the runner of 670, which spares an M4's programs 2 240.
# Sessions in two memories are checked and placed since 453 200 and 365 550: 2 600 bytes for who names TwoMemories, and two statuses with
# their texts. Normalizations add an epsilon behind the root since 453 550 and 365 900.
BUDGET = {"library": 453_550, "library, one ISA": 365_900, "program of 12 int8 operators": 131_300}


def text_of(size, file):
    rows = subprocess.run([size, file], check=True, capture_output=True, text=True).stdout.splitlines()[1:]
    return {row.split()[5]: int(row.split()[0]) for row in rows}


def main():
    check = "--check" in sys.argv
    size, archive, program, empty, isas = [a for a in sys.argv[1:] if a != "--check"]
    objects = text_of(size, archive)
    isas = isas.split(",")
    of_isa = {isa: sum(n for o, n in objects.items() if re.search(rf"_{isa}\.cc\.o", o)) for isa in isas}
    every, whole = sum(of_isa.values()), sum(objects.values())
    linked = sum(text_of(size, program).values()) - sum(text_of(size, empty).values())
    largest = max(isas, key=of_isa.get)
    figures = {"library": whole, "library, one ISA": whole - every + of_isa[largest],
               "program of 12 int8 operators": linked}
    for isa in isas:
        print(f"{of_isa[isa]:8} kernels of {isa}")
    for name, found in figures.items():
        print(f"{found:8} {name} (budget {BUDGET[name]})")
    for found, name in sorted(((n, o) for o, n in objects.items()), reverse=True)[:10]:
        print(f"{found:8}   {name}")
    over = [name for name, found in figures.items() if found > BUDGET[name]]
    if check and over:
        sys.exit("over budget: " + ", ".join(over))


if __name__ == "__main__":
    main()
