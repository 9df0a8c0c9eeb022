#!/usr/bin/env python3
"""Flash, memory and executed instructions of the int8 models of MLPerf Tiny on one Cortex-M, against a budget.

  board_budget.py --cpu cortex-m4 --folder BUILD/benchmarks/board_models --size arm-none-eabi-size
                  --objdump arm-none-eabi-objdump
                  [--plugin instruction_plugin.so --emulator "qemu-system-arm;-M;...;-kernel"]

Flash is everything but the model: start-up, main, our code and libgcc's and libc's. Memory is activations, bookkeeping
and scratch, as Session::measure gives it on the board. Instructions are those of one run (two runs less one); they are
no time. The stack, from main() on, is the deepest that stack_bound.py finds; what a run uses must not be more. Fails
where a figure is above its budget: what was reached, rounded up. `peer` is TensorFlow Lite Micro with CMSIS-NN, measured
in the same way: flash at -Os; arena; instructions at -O2, in millions.
"""
import argparse
import pathlib
import re
import subprocess
import sys

from stack_bound import stack_bound

CPUS = ("cortex-m4", "cortex-m7", "cortex-m55")
MODELS = ("resnet8", "vww_96", "kws", "ad01")
# By CPU, then by model in the order above.
PEER_FLASH = {"cortex-m4": (42612, 45480, 45480, 22192), "cortex-m7": (40264, 43224, 43224, 19504),
              "cortex-m55": (37464, 40576, 40576, 18452)}
PEER_MEMORY = {"cortex-m4": (55008, 100720, 22832, 3024), "cortex-m7": (55008, 100720, 22832, 3024),
               "cortex-m55": (55040, 100784, 27360, 9712)}
PEER_INSTRUCTIONS = {"cortex-m4": (29.86, 24.10, 7.701, 0.583), "cortex-m7": (30.02, 24.03, 7.647, 0.583),
                     "cortex-m55": (4.914, 6.558, 1.817, 0.150)}
FLASH = {"cortex-m4": (28150, 30900, 30900, 20200), "cortex-m7": (28150, 30900, 30900, 20200),
         "cortex-m55": (27650, 30250, 30250, 19600)}
MEMORY = {"cortex-m4": (38080, 58048, 17536, 2368), "cortex-m7": (38080, 58048, 17536, 2368),
          "cortex-m55": (35776, 57344, 17536, 1728)}
INSTRUCTIONS = {"cortex-m4": (17.8e6, 17.0e6, 5.04e6, 0.465e6), "cortex-m7": (17.9e6, 17.3e6, 5.07e6, 0.464e6),
                "cortex-m55": (4.24e6, 5.32e6, 1.58e6, 0.100e6)}
STACK = 1900  # on each
MOST_PER_TENSOR, MOST_PER_NODE = 16, 32  # bytes of bookkeeping


def flash(tool, program):
    """Bytes of what stands in flash, the model's section left out."""
    sizes = dict(re.findall(r"^(\.\S+)\s+(\d+)", subprocess.run([tool, "-A", program], capture_output=True, text=True,
                                                                check=True).stdout, re.MULTILINE))
    return sum(int(sizes.get(name, 0)) for name in (".text", ".ARM.extab", ".ARM.exidx", ".data"))


def constants(header):
    return {name: int(value) for name, value in re.findall(r"size_t (k\w+) = (\d+);", header.read_text(encoding="utf-8"))}


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
    arguments = parser.parse_args()
    folder, cpu, failed = pathlib.Path(arguments.folder), arguments.cpu, []

    def judge(model, what, found, budgets, peer):
        budget = budgets.get(cpu, (None,) * len(MODELS))[MODELS.index(model)]
        if budget is not None and found > budget:
            failed.append(f"{model}: {what}: {found}, budget {budget}")
        return f"{found:10} {found / peer:5.2f}"

    print(f"{cpu}: bytes and instructions, each with its ratio to TensorFlow Lite Micro's with CMSIS-NN")
    print(f"{'model':8} {'flash':>16} {'memory':>16} {'activations':>11} {'bound':>6} {'bookkeeping':>11} {'scratch':>7} {'stack':>5} {'used':>5} {'instructions':>16}")
    for i, model in enumerate(MODELS):
        program, sizes = folder / f"{model}_1.elf", constants(folder / model / "board_model.h")
        line = judge(model, "flash", flash(arguments.size, program), FLASH, PEER_FLASH[cpu][i])
        line += " " + judge(model, "memory", sizes["kMemoryBytes"], MEMORY, PEER_MEMORY[cpu][i])
        bound = sizes["kLowerBound"]
        if sizes["kActivationBytes"] > bound + max(64, bound // 50):
            failed.append(f"{model}: activations: {sizes['kActivationBytes']}, lower bound {bound}")
        if sizes["kPersistentBytes"] > MOST_PER_TENSOR * sizes["kTensors"] + MOST_PER_NODE * sizes["kNodes"]:
            failed.append(f"{model}: bookkeeping: {sizes['kPersistentBytes']}")
        line += f" {sizes['kActivationBytes']:11} {bound:6} {sizes['kPersistentBytes']:11} {sizes['kScratchBytes']:7}"
        stack = stack_bound(arguments.objdump, program)
        if stack > STACK:
            failed.append(f"{model}: stack: {stack}, budget {STACK}")
        line += f" {stack:5}"
        if arguments.plugin:
            emulator = arguments.emulator.split(";")
            looking = folder / f"{model}_stack.elf"
            used, most = printed([*emulator, looking], "stack"), stack_bound(arguments.objdump, looking)
            if used > most:
                failed.append(f"{model}: stack: {used} used where at most {most} should be")
            line += f" {used:5}"
            runs = [executed(emulator, arguments.plugin, folder / f"{model}_{n}.elf") for n in (1, 2)]
            line += " " + judge(model, "instructions", runs[1] - runs[0], INSTRUCTIONS, PEER_INSTRUCTIONS[cpu][i] * 1e6)
        print(f"{model:8} {line}")
    for text in failed:
        print("over budget:", text)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
