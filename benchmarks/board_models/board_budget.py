#!/usr/bin/env python3
"""Flash, memory and executed instructions of the int8 models of MLPerf Tiny on one Cortex-M, against a budget.

  board_budget.py --cpu cortex-m4 --folder BUILD/benchmarks/board_models --size arm-none-eabi-size
                  --objdump arm-none-eabi-objdump
                  [--plugin instruction_plugin.so --emulator "qemu-system-arm;-M;...;-kernel" --inspect intaglio]

Flash is everything but the model: start-up, main, our code and libgcc's and libc's; a plan's tables are in it. Memory is
activations, bookkeeping and scratch, as Session::measure gives it on the board. Instructions are those of one run (two
runs less one); they are no time. Cycles are estimated from what was executed, for cores whose timings are documented. Each
model has two programs, and those of pictures three: one that checks it on the board, one whose session the build machine
planned, and one of these that is fed by rows. The stack, from main() on, is the deepest that stack_bound.py finds; what a run
uses must not be more. Fails where a figure is above its budget: what was reached, rounded up; where README.md's table is a
hundredth away; and where `inspect --clock` is a twentieth off the cycles of a planned program.
`peer` is TensorFlow Lite Micro with CMSIS-NN, measured in the same way, but for cores without DSP extension: flash at -Os;
arena; instructions at -O2.
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys

from stack_bound import stack_bound

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "instruction_count"))
from cortex_m_cycles import CHIPS, CORES, OF_CHIP, cycles_of_a_run  # noqa: E402

MODELS = ("resnet8", "vww_96", "kws", "ad01")
NAMES = ("ResNet-8", "VWW 96", "KWS", "AD")  # in README's table, which has the figures of cortex-m4
README = pathlib.Path(__file__).resolve().parents[2] / "README.md"
# By CPU, then by model in the order above.
PEER_FLASH = {"cortex-m4": (42612, 45480, 45480, 22192), "cortex-m7": (40264, 43224, 43224, 19504),
              "cortex-m55": (37464, 40576, 40576, 18452)}
PEER_MEMORY = {"cortex-m4": (55008, 100720, 22832, 3024), "cortex-m7": (55008, 100720, 22832, 3024),
               "cortex-m55": (55040, 100784, 27360, 9712)}
PEER_INSTRUCTIONS = {"cortex-m4": (29.86e6, 24.10e6, 7.701e6, 0.583e6), "cortex-m7": (30.02e6, 24.03e6, 7.647e6, 0.583e6),
                     "cortex-m55": (4.914e6, 6.558e6, 1.817e6, 0.150e6)}
# With the loader, which checks every byte of the model, and planned on the build machine (export-c --planned), which links
# no check: the peer has none either.
FLASH = {"cortex-m4": (31710, 37120, 37120, 21820),
         "cortex-m7": (31720, 37130, 37130, 21820),
         "cortex-m55": (28440, 32250, 32250, 20000),
         "cortex-m3": (26770, 29750, 29740, 19860), "cortex-m0plus": (29660, 32690, 32680, 22620)}
MEMORY = {"cortex-m4": (38976, 57344, 17216, 2304), "cortex-m7": (38976, 57344, 17216, 2304),
          "cortex-m55": (35392, 57216, 17536, 1664),
          "cortex-m3": (33088, 56192, 16512, 1024), "cortex-m0plus": (33088, 56192, 16512, 1024)}
# Kernels of M4 and M7 are chosen by cycles: a load of several words costs what it loads, and fewer words are more instructions.
INSTRUCTIONS = {"cortex-m4": (12.09e6, 6.92e6, 3.65e6, 0.425e6), "cortex-m7": (12.09e6, 6.92e6, 3.65e6, 0.425e6),
                "cortex-m55": (3.11e6, 3.10e6, 1.19e6, 0.088e6),
                "cortex-m3": (53.64e6, 29.97e6, 16.47e6, 1.114e6), "cortex-m0plus": (54.0e6, 30.91e6, 16.74e6, 1.138e6)}
# Whose flash is counted besides; where the linker places code decides a hundredth of it.
CHIP = {"cortex-m4": "stm32l4r5", "cortex-m7": "stm32h7a3", "cortex-m0plus": "stm32g0b1"}
CYCLES = {"cortex-m4": (18.65e6, 9.45e6, 4.93e6, 0.476e6),  # estimated (cortex_m_cycles.py)
          "cortex-m7": (13.51e6, 6.96e6, 3.48e6, 0.327e6),
          "cortex-m3": (70.66e6, 39.81e6, 22.04e6, 1.480e6), "cortex-m0plus": (74.03e6, 42.56e6, 23.24e6, 1.565e6)}
PLANNED_FLASH = {"cortex-m4": (17030, 21660, 21520, 10140),
                 "cortex-m7": (17040, 21680, 21540, 10150),
                 "cortex-m55": (13440, 16730, 16590, 8020),
                 "cortex-m3": (12080, 14520, 14370, 8150), "cortex-m0plus": (14240, 16770, 16630, 9480)}
PLANNED_MEMORY = {"cortex-m4": (38656, 56704, 16896, 2048), "cortex-m7": (38656, 56704, 16896, 2048),
                  "cortex-m55": (35072, 56576, 17216, 1408),
                  "cortex-m3": (32768, 55552, 16192, 768), "cortex-m0plus": (32768, 55552, 16192, 768)}
STACK = {"cortex-m4": 1920, "cortex-m7": 1920, "cortex-m55": 2060, "cortex-m3": 2030, "cortex-m0plus": 2080}
PLANNED_STACK = {"cortex-m4": 1690, "cortex-m7": 1690, "cortex-m55": 1830, "cortex-m3": 1800, "cortex-m0plus": 1870}
# By rows that are fed, planned: figures by CPU for the first three models.
ROWS_FLASH = {"cortex-m4": (22840, 27440, 27290), "cortex-m7": (22830, 27440, 27300), "cortex-m55": (19360, 22640, 22490),
              "cortex-m3": (17890, 20320, 20170), "cortex-m0plus": (21170, 23680, 23540)}
ROWS_MEMORY = {"cortex-m4": (20864, 18624, 6656), "cortex-m7": (20864, 18624, 6656), "cortex-m55": (17280, 18496, 7040),
               "cortex-m3": (14976, 17472, 6016), "cortex-m0plus": (14976, 17472, 6016)}
ROWS_INSTRUCTIONS = {"cortex-m4": (12.63e6, 9.03e6, 5.72e6), "cortex-m7": (12.63e6, 9.03e6, 5.72e6),
                     "cortex-m55": (3.95e6, 4.53e6, 2.51e6),
                     "cortex-m3": (54.47e6, 31.41e6, 17.74e6), "cortex-m0plus": (55.43e6, 33.32e6, 18.91e6)}
ROWS_STACK = {"cortex-m4": 2750, "cortex-m7": 2750, "cortex-m55": 2912, "cortex-m3": 2864, "cortex-m0plus": 3030}
MOST_OVER_INPUT = 1.01  # instructions where outputs overwrite rows of their input, by those of layer by layer
MOST_PER_TENSOR, MOST_PER_NODE = 16, 32  # bytes of bookkeeping


def flash(tool, program):
    """Bytes of what stands in flash, the model's section left out."""
    sizes = dict(re.findall(r"^(\.\S+)\s+(\d+)", subprocess.run([tool, "-A", program], capture_output=True, text=True,
                                                                check=True).stdout, re.MULTILINE))
    return sum(int(sizes.get(name, 0)) for name in (".text", ".ARM.extab", ".ARM.exidx", ".data"))


def constants(header):
    text = header.read_text(encoding="utf-8")
    return {name: int(value) for name, value in
            re.findall(r"size_t (k\w+) = (\d+);", text) + re.findall(r"#define (NET_\w+) (\d+)\n", text)}


def shown(of, peer):
    """A cell: bytes, or executed instructions in millions."""
    if isinstance(of, float):
        return f"{of / 1e6:.{1 if of >= 1e6 else 2}f} M ({of / peer:.2f})"
    return f"{of:,} ({of / peer:.2f})".replace(",", " ")


def stale(name, found):
    """Where README's row of a model is more than a hundredth away from what was found: a cell's figure and the peer's; none:
    not measured here, or the model has no such program."""
    row = re.search(rf"^\| {name} \|(.*)\|$", README.read_text(encoding="utf-8"), re.MULTILINE)
    cells = [re.fullmatch(r" ([0-9. ]+?)( M)? \(([0-9.]+)\) ", cell) for cell in row.group(1).split("|")] if row else []

    def is_near(cell, of, peer):
        if cell is None:
            return False
        number, millions, ratio = cell.groups()
        written = float(number.replace(" ", "")) * (1e6 if millions else 1)
        last_digit = 10 ** (6 - len(number.partition(".")[2])) if millions else 1
        return abs(written - of) <= max(of / 100, last_digit) and abs(float(ratio) - of / peer) <= 0.011

    if len(cells) == len(found) and all(of is None or is_near(cell, of, peer) for cell, (of, peer) in zip(cells, found)):
        return []
    return [f"README.md, {name}: its row should be " +
            " | ".join("..." if of is None else shown(of, peer) for of, peer in found)]


def printed(command, what):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: {done.returncode}: {done.stderr.strip()}")
    return int(re.search(rf"^{what} (\d+)$", done.stdout + done.stderr, re.MULTILINE).group(1))


def executed(emulator, plugin, program):
    return printed([emulator[0], "-plugin", plugin, "-d", "plugin", *emulator[1:], program], "instructions")


def main():
    parser = argparse.ArgumentParser()
    for name in ("cpu", "folder", "size", "objdump"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--plugin")
    parser.add_argument("--emulator")
    parser.add_argument("--inspect")
    arguments = parser.parse_args()
    folder, cpu, failed = pathlib.Path(arguments.folder), arguments.cpu, []

    def judge(name, what, found, budgets, peers):
        model = MODELS.index(name.split()[0])
        budget = budgets.get(cpu, (None,) * len(MODELS))[model]
        if budget is not None and found > budget:
            failed.append(f"{name}: {what}: {found}, budget {budget}")
        return f"{found:10} " + (f"{found / peers[cpu][model]:5.2f}" if cpu in peers else "    -")

    def run_of(elf):
        runs = [executed(arguments.emulator.split(";"), arguments.plugin, elf(n)) for n in (1, 2)]
        return runs[1] - runs[0]

    def measure(i, name, program, sizes, budgets):
        """One line: a program's `name_1.elf` and its like, bytes of memory {total, activations, bookkeeping, scratch}."""
        elf = lambda kind: folder / f"{program}_{kind}.elf"
        flash_bytes, instructions = flash(arguments.size, elf(1)), None
        line = judge(name, "flash", flash_bytes, budgets[0], PEER_FLASH)
        line += " " + judge(name, "memory", sizes[0], budgets[1], PEER_MEMORY)
        line += " " + " ".join(f"{size:11}" for size in sizes[1:])
        stack = stack_bound(arguments.objdump, elf(1))
        if stack > budgets[2]:
            failed.append(f"{name}: stack: {stack}, budget {budgets[2]}")
        line += f" {stack:6}"
        if arguments.plugin:
            emulator = arguments.emulator.split(";")
            used = printed([*emulator, elf("stack")], "stack")
            most = stack_bound(arguments.objdump, elf("stack"), "start")  # what is used counts from the stack's top on
            if used > most:
                failed.append(f"{name}: stack: {used} used where at most {most} should be")
            instructions = run_of(elf)
            line += f" {used:6} " + judge(name, "instructions", instructions, INSTRUCTIONS, PEER_INSTRUCTIONS)
            if cpu in CORES:
                chip = CHIP.get(cpu)
                found = cycles_of_a_run(cpu, emulator, arguments.plugin, arguments.objdump, (elf(1), elf(2)), chip)
                cycles = sum(count for kind, count in found.items() if kind not in OF_CHIP)
                line += f" {cycles:10}" + (f" {sum(found.values()):10}" if chip else "")
                if cycles > CYCLES[cpu][i]:
                    failed.append(f"{name}: cycles: {cycles}, budget {CYCLES[cpu][i]}")
                if arguments.inspect and name.endswith("planned"):
                    compare(name, MODELS[i], chip, cycles, sum(found.values()))
        print(f"{name:17} {line}")
        return flash_bytes, sizes[0], instructions

    def compare(name, model, chip, *counted):
        """Cycles without wait states, and with a chip's flash, beside what the command says of the model."""
        clock = CHIPS[chip].mhz if chip else 100
        for cycles, words in zip(counted, [[], ["--chip", chip]] if chip else [[]]):
            done = subprocess.run([arguments.inspect, "inspect", folder / model / "model.itg", "--json", "--target", cpu, "--clock",
                                   str(clock), *words], capture_output=True, text=True, check=True)
            estimate = json.loads(done.stdout)["estimate"]["cycles"]
            if abs(estimate / cycles - 1) > 0.05:
                failed.append(f"{name}: inspect says {estimate} cycles, counted are {cycles}: run cycle_table.py")

    def measure_rows(name, sizes):
        """One line: the program that is fed by rows. Its stack is what a run uses, since calls through a streamed plan's
        pointers are not bounded from the outside."""
        elf = lambda kind: folder / f"{name}_rows_{kind}.elf"
        flash_bytes, instructions = flash(arguments.size, elf(1)), None
        line = judge(name, "flash by rows", flash_bytes, ROWS_FLASH, PEER_FLASH)
        line += " " + judge(name, "memory by rows", sizes[0], ROWS_MEMORY, PEER_MEMORY)
        line += " " + " ".join(f"{size:11}" for size in sizes[1:])
        if arguments.plugin:
            emulator = arguments.emulator.split(";")
            used = printed([*emulator, elf("stack")], "stack")
            if used > ROWS_STACK.get(cpu, used):
                failed.append(f"{name}: stack by rows: {used}, budget {ROWS_STACK[cpu]}")
            instructions = run_of(elf)
            line += f" {'':6} {used:6} " + judge(name, "instructions by rows", instructions, ROWS_INSTRUCTIONS,
                                                 PEER_INSTRUCTIONS)
        print(f"{name + ' rows fed':17} {line}")
        return flash_bytes, sizes[0], instructions

    print(f"{cpu}: bytes and instructions" +
          (", each with its ratio to TensorFlow Lite Micro's with CMSIS-NN" if cpu in PEER_FLASH else ""))
    print(f"{'model':17} {'flash':>16} {'memory':>16} activations bookkeeping     scratch  stack   used {'instructions':>16}"
          + ("     cycles" if cpu in CORES else "") + (f"  {CHIP[cpu]}" if cpu in CHIP else ""))
    for i, model in enumerate(MODELS):
        sizes, planned = constants(folder / model / "board_model.h"), constants(folder / model / "planned/net_model.h")
        bound = sizes["kLowerBound"]
        if sizes["kActivationBytes"] > bound + max(64, bound // 50):
            failed.append(f"{model}: activations: {sizes['kActivationBytes']}, lower bound {bound}")
        if sizes["kPersistentBytes"] > MOST_PER_TENSOR * sizes["kTensors"] + MOST_PER_NODE * sizes["kNodes"]:
            failed.append(f"{model}: bookkeeping: {sizes['kPersistentBytes']}")
        checked = measure(i, model, model, [sizes[f"k{part}Bytes"] for part in ("Memory", "Activation", "Persistent", "Scratch")],
                          (FLASH, MEMORY, STACK[cpu]))
        ahead = measure(i, f"{model} planned", f"{model}_planned",
                        [planned[f"NET_{part}_BYTES"] for part in ("MEMORY", "ACTIVATION", "PERSISTENT", "SCRATCH")],
                        (PLANNED_FLASH, PLANNED_MEMORY, PLANNED_STACK[cpu]))
        fed = (None, None, None)
        rows = folder / model / "rows/net_model.h"
        if rows.exists():
            sizes = constants(rows)
            fed = measure_rows(model, [sizes[f"NET_{part}_BYTES"] for part in
                                          ("MEMORY", "ACTIVATION", "PERSISTENT", "SCRATCH")])
        if arguments.plugin and (folder / f"{model}_over_1.elf").exists():
            over = run_of(lambda kind: folder / f"{model}_over_{kind}.elf")
            print(f"{model + ' over input':17} {'':114}{over:10}")
            if over > MOST_OVER_INPUT * ahead[2]:
                failed.append(f"{model}: instructions over rows of the input: {over}, planned {ahead[2]}")
        if cpu == "cortex-m4":
            flash_peer, memory_peer, instructions_peer = (peer[cpu][i] for peer in (PEER_FLASH, PEER_MEMORY, PEER_INSTRUCTIONS))
            failed += stale(NAMES[i], [(found[0], flash_peer) for found in (checked, ahead, fed)] +
                            [(found[1], memory_peer) for found in (checked, ahead, fed)] +
                            [(found[2] and float(found[2]), instructions_peer) for found in (checked, fed)])
    for text in failed:
        print("failed:", text)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
