#!/usr/bin/env python3
"""Makes tools/cycle_table.inc, from which `intaglio inspect --target cortex-m4 --clock MHZ` says how long a run takes.

  scripts/setup --bare-metal
  cmake --preset cortex-m4 && cmake --build build/cortex-m4 --target node_cycles      # and cortex-m3, cortex-m0plus
  cmake --build build/host --target make_cycle_models intaglio_cli
  cycle_table.py [--check [--targets NAME...]] [--nodes] [--folder build/cycle_table]

Some 1,200 nodes of shapes that small networks have (make_cycle_models.cc) run one by one under qemu-system-arm (node_cycles.cc).
cortex_m_cycles.py gives the cycles of each, without wait states and with each chip's flash. A node's amounts of work, as
tools/node_work.h finds them, times the table's numbers are these cycles: for each kernel, least squares of the relative errors, no
number below 0. Then whole networks of ../shared are counted in the same way, of which nothing was fitted, and printed beside
what the table gives; the largest difference stands in the table. --check: the table stays, only the networks are counted. The test
cli_cycles holds figures that this prints as CHECKED.

Run it again when a kernel for Cortex-M, work_of() or cortex_m_cycles.py changes. It takes three minutes.
"""
import argparse
import collections
import os
import pathlib
import re
import subprocess
import sys
import tempfile

from cortex_m_cycles import CHIPS, CORES, OF_CHIP, Program, cycles_of, executed, flash_options, known_errors

ROOT = pathlib.Path(__file__).resolve().parents[2]
TABLE = ROOT / "tools/cycle_table.inc"
SHARED = pathlib.Path(os.environ.get("INTAGLIO_SHARED", ROOT / "../shared"))
# By target: the preset whose program is counted, and qemu's board. Both boards have the same memories; a Cortex-M3 executes the
# M0+'s code as it is. The M7 runs the M4's program: its kernels are the same.
Machine = collections.namedtuple("Machine", "preset board")
MACHINES = {"cortex-m4": Machine("cortex-m4", "mps2-an386"), "cortex-m7": Machine("cortex-m4", "mps2-an386"),
            "cortex-m3": Machine("cortex-m3", "mps2-an385"), "cortex-m0plus": Machine("cortex-m0plus", "mps2-an385")}
TIMED_AS = {"cortex-m33": "cortex-m4"}  # targets by another one's numbers
MODEL_PLACE = 0x00100000
NETWORKS = ("models/resnet8_int8.tflite", "models/vww_96_int8.tflite", "models/kws_int8.tflite", "models/ad01_int8.tflite",
            *(f"corpus/{name}_int8.tflite" for name in (
                "ainedmodel_public_dataset-emnist_byclass-st_mnist_v1_28_tfs-st_mnist_v1_28_tfs",
                "l_public_dataset-esc10-miniresnet_1stacks_64x50_tl-miniresnet_1stacks_64x50_tl",
                "blic_dataset-fsd50k-yamnet_256_64x96_tl-with_unknown_class-yamnet_256_64x96_tl",
                "flowers-mobilenet_v1_0.25_96_grayscale_tfs-mobilenet_v1_0.25_96_grayscale_tfs",
                "dmodel_public_dataset-person-mobilenet_v2_0.35_128_tl-mobilenet_v2_0.35_128_tl",
                "blic_dataset-plant-village-st_fdmobilenet_v1_128_tfs-st_fdmobilenet_v1_128_tfs",
                "aset-plant-village-st_efficientnet_lc_v1_128_tfs-st_efficientnet_lc_v1_128_tfs",
                "retrainedmodel_public_dataset-cifar100-resnet_v1_32_32_tfs-resnet_v1_32_32_tfs")),
            *(f"corpus/{name}.tflite" for name in (
                "mltk__mltk-utils-test_helper-data-tflite_micro_speech", "TinyMaix__tools-tflite-mnist_valid_q",
                "shared-apps-fingerprint_authenticator-config-tflite-fingerprint_signature_generator")),
            "corpus2/ai-edge-quantizer__ai_edge_quantizer-tests-models-conv_fc_mnist_srq_a8w8.tflite")


MOST_PERCENT = 6  # of any network; an M0+ takes a different time for other codes


def solved(matrix, right):
    """The solution of a symmetric system; a variable that the others make is 0."""
    n, rows = len(right), [[*row, value] for row, value in zip(matrix, right)]
    free = []
    for i in range(n):
        pivot = max(range(i, n), key=lambda r: abs(rows[r][i]))
        rows[i], rows[pivot] = rows[pivot], rows[i]
        if abs(rows[i][i]) < 1e-12:
            free.append(i)
            rows[i] = [0.0] * i + [1.0] + [0.0] * (n - i)
            continue
        for r in range(i + 1, n):
            factor = rows[r][i] / rows[i][i]
            if factor:
                rows[r] = [a - factor * b for a, b in zip(rows[r], rows[i])]
    found = [0.0] * n
    for i in reversed(range(n)):
        found[i] = (rows[i][n] - sum(rows[i][j] * found[j] for j in range(i + 1, n))) / rows[i][i]
    return found


def fitted(rows, wanted, weights):
    """Numbers, none below 0, whose products with `rows` are nearest to `wanted`, each difference times its weight (Lawson, Hanson)."""
    n = len(rows[0])
    rows = [[value * weight for value in row] for row, weight in zip(rows, weights)]
    wanted = [value * weight for value, weight in zip(wanted, weights)]
    sizes = [sum(row[i] ** 2 for row in rows) ** 0.5 for i in range(n)]
    used = [i for i in range(n) if sizes[i] > 0]
    scaled = [[row[i] / sizes[i] for i in used] for row in rows]
    n = len(used)
    square = [[sum(row[i] * row[j] for row in scaled) for j in range(n)] for i in range(n)]
    right = [sum(row[i] * value for row, value in zip(scaled, wanted)) for i in range(n)]
    x, inside = [0.0] * n, []
    for _ in range(10 * n):
        slopes = [right[i] - sum(square[i][j] * x[j] for j in inside) for i in range(n)]
        best = max((i for i in range(n) if i not in inside), key=lambda i: slopes[i], default=None)
        if best is None or slopes[best] < 1e-9:
            break
        inside.append(best)
        while inside:
            values = solved([[square[i][j] for j in inside] for i in inside], [right[i] for i in inside])
            if min(values) > 0:
                break
            step = min((x[i] / (x[i] - value) for i, value in zip(inside, values) if value <= 0 and x[i] != value), default=0)
            for i, value in zip(inside, values):
                x[i] += step * (value - x[i])
            inside = [i for i in inside if x[i] > 1e-15]
        x = [0.0] * n
        for i, value in zip(inside, values if inside else []):
            x[i] = value
    found = [0.0] * len(sizes)
    for i, value in zip(used, x):
        found[i] = value / sizes[i]
    return found


class Counter:
    """Counts nodes of models on one target."""

    def __init__(self, target, plugin, build):
        machine = MACHINES[target]
        self.target, self.core, self.plugin = target, CORES[target], plugin
        self.elf = str(build / machine.preset / "benchmarks/board_models/node_cycles.elf")
        self.program = Program("arm-none-eabi-objdump", self.elf, self.core)
        names = subprocess.run(["arm-none-eabi-nm", self.elf], capture_output=True, text=True, check=True).stdout
        self.cut = int(re.search(r"^(\w+) . next_part$", names, re.MULTILINE).group(1), 16)
        self.emulator = ["qemu-system-arm", "-M", machine.board, "-display", "none", "-monitor", "none", "-serial", "none",
                         "-semihosting-config", "enable=on,target=native"]

    def nodes(self, model, chip):
        """[(cycles of the core, cycles of the chip's flash)] by node."""
        emulator = [*self.emulator, "-device", f"loader,file={model},addr={MODEL_PLACE:#x},force-raw=on", "-device",
                    f"loader,addr={MODEL_PLACE - 4:#x},data={model.stat().st_size},data-len=4", "-kernel"]
        flash = CHIPS[chip] if chip else None
        text = executed(emulator, f"{self.plugin},blocks=on,part={self.cut:x}{flash_options(flash)}", self.elf)
        parts = [cycles_of(self.program, flash, part) for part in text.split("part\n")[1:]]
        counts = [(sum(n for kind, n in part.items() if kind not in OF_CHIP), sum(part[kind] for kind in OF_CHIP)) for part in parts]
        # The first part is all before, the second a run of no nodes.
        call = counts[1]
        return [(core - call[0], waits - min(call[1], waits)) for core, waits in counts[2:]]


def work(build, model, target):
    done = subprocess.run([str(build / "host/benchmarks/make_cycle_models"), "work", str(model), target], capture_output=True,
                          text=True, check=True)
    return [(kernel, [float(amount) for amount in amounts.split()])
            for kernel, amounts in (line.split("\t") for line in done.stdout.splitlines())]


def product(numbers, amounts):
    """None where there is work that no fitted node has."""
    if any(number < 0 and amount > 0 for number, amount in zip(numbers, amounts)):
        return None
    return sum(number * amount for number, amount in zip(numbers, amounts))


def chips_of(target):
    return [name for name, chip in CHIPS.items() if TIMED_AS.get(chip.core, chip.core) == target]


def fit(target, counter, models, build):
    """{kernel: {chip or "": numbers}}, -1 for amounts that no node has."""
    seen = collections.defaultdict(list)  # kernel: (amounts, cycles of the core, by chip)
    chips = chips_of(target)
    for model in models:
        runs = {chip: counter.nodes(model, chip) for chip in chips or [None]}
        core = next(iter(runs.values()))
        for i, (kernel, amounts) in enumerate(work(build, model, target)):
            seen[kernel].append((amounts, core[i][0], {chip: runs[chip][i][1] for chip in chips}))
    table = {}
    for kernel, nodes in sorted(seen.items()):
        rows, cores = [node[0] for node in nodes], [node[1] for node in nodes]
        weights = [1 / core for core in cores]
        numbers = fitted(rows, cores, weights)
        errors = sorted(abs(product(numbers, row) / core - 1) for row, core in zip(rows, cores))
        table[kernel] = {"": [number if any(row[i] for row in rows) else -1 for i, number in enumerate(numbers)]}
        for chip in chips:
            table[kernel][chip] = fitted(rows, [node[2][chip] for node in nodes], weights)
        print(f"{target:14} {kernel:36} {len(nodes):4} nodes, error: half below {errors[len(errors) // 2]:6.1%}, "
              f"nine tenths below {errors[len(errors) * 9 // 10]:6.1%}, most {errors[-1]:6.1%}")
    return table


def written(tables, differences):
    lines = ["// Made by benchmarks/instruction_count/cycle_table.py, which says how: do not edit.", "//",
             "// ITG_CYCLE_TARGET(name, by whose timings, most percent that it is off counted networks)",
             "// ITG_CHIP(name, target, most megahertz, megahertz a wait state, least and most percent that the counting is off published",
             "//          cycles: with the chip's flash, and without wait states; all 0: none are known)",
             "// ITG_KERNEL_CYCLES(target, kernel, cycles for each amount of work_of()...), -1: no node that was counted has of it",
             "// ITG_KERNEL_WAITS(chip, kernel, cycles that its flash adds at its highest clock, likewise...)", "// clang-format off", ""]
    for target in tables:
        lines.append(f'ITG_CYCLE_TARGET("{target}", "{target}", {differences[target]:.1f})')
        for name, timed_as in TIMED_AS.items():
            if timed_as == target:
                lines.append(f'ITG_CYCLE_TARGET("{name}", "{target}", {differences[target]:.1f})')
    for name, chip in CHIPS.items():
        bounds = [limit(known_errors(name, flash)) for flash in (True, False) for limit in (min, max)]
        lines.append(f'ITG_CHIP("{name}", "{chip.core}", {chip.mhz}, {chip.step}, {", ".join(f"{bound:.1f}" for bound in bounds)})')
    text = lambda numbers: ", ".join(f"{number:.6g}" for number in numbers)
    for target, table in tables.items():
        for kernel, numbers in table.items():
            lines.append(f'ITG_KERNEL_CYCLES("{target}", "{kernel}", {text(numbers[""])})')
    for target, table in tables.items():
        for chip in chips_of(target):
            for kernel, numbers in table.items():
                if any(numbers[chip]):
                    lines.append(f'ITG_KERNEL_WAITS("{chip}", "{kernel}", {text(numbers[chip])})')
    return "\n".join(lines) + "\n"


def read_table():
    tables = collections.defaultdict(lambda: collections.defaultdict(dict))
    for macro, owner, kernel, numbers in re.findall(r'^ITG_KERNEL_(CYCLES|WAITS)\("([^"]+)", "([^"]+)", ([^)]*)\)$',
                                                    TABLE.read_text(encoding="utf-8"), re.MULTILINE):
        target = owner if macro == "CYCLES" else TIMED_AS.get(CHIPS[owner].core, CHIPS[owner].core)
        tables[target][kernel]["" if macro == "CYCLES" else owner] = [float(number) for number in numbers.split(", ")]
    return tables


def check(target, counter, table, build, folder, by_node):
    """Whole networks beside what the table gives; the largest difference in percent."""
    most = 0
    for name in NETWORKS:
        model = folder / (pathlib.Path(name).stem + ".itg")
        if not model.exists():
            subprocess.run([str(build / "host/cli/intaglio"), "import", str(SHARED / name), "-o", str(model)], check=True,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        nodes = work(build, model, target)
        for chip in chips_of(target) or [None]:
            counted = counter.nodes(model, chip)
            cores = [product(table[kernel][""], amounts) if kernel in table else None for kernel, amounts in nodes]
            unknown = sorted({kernel for (kernel, _), core in zip(nodes, cores) if core is None})
            waits = [product(table[kernel].get(chip, []), amounts) if kernel in table else 0 for kernel, amounts in nodes]
            found = [(core or 0, wait) for core, wait in zip(cores, waits)]
            whole = [(sum(node[0] for node in one), sum(map(sum, one))) for one in (counted, found)]
            differences = [100 * (a / b - 1) for a, b in zip(whole[1], whole[0])]
            most = max(most, *map(abs, differences))
            print(f"CHECKED {target} {chip} {pathlib.Path(name).stem[-40:]}: {whole[0][0]} {differences[0]:+.1f} %, with flash "
                  f"{whole[0][1]} {differences[1]:+.1f} % {unknown or ''}")
            for (kernel, _), c, f in zip(nodes, counted, found) if by_node else ():
                print(f"    {kernel:32} {c[0]:9} {f[0] / c[0] - 1:+7.1%} of all {(f[0] - c[0]) / whole[0][0]:+.1%} waits {c[1]:8} {f[1]:8.0f}")
    return most


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--nodes", action="store_true", help="print each node of the networks, too")
    parser.add_argument("--targets", nargs="*", default=list(MACHINES), choices=MACHINES, help="with --check")
    parser.add_argument("--folder", type=pathlib.Path, default=ROOT / "build/cycle_table")
    arguments = parser.parse_args()
    build, folder = ROOT / "build", arguments.folder
    (folder / "grid").mkdir(parents=True, exist_ok=True)
    subprocess.run([str(build / "host/benchmarks/make_cycle_models"), "grid", str(folder / "grid")], check=True)
    models = sorted((folder / "grid").glob("*.itg"))
    tables = read_table() if TABLE.exists() else {}
    plugin = folder / "instruction_plugin.so"
    subprocess.run(["cc", "-std=c11", "-O2", "-fPIC", "-shared", "-fvisibility=hidden",
                    str(ROOT / "benchmarks/instruction_count/instruction_plugin.c"), "-o", str(plugin)], check=True)
    differences = {}
    for target in arguments.targets:
        counter = Counter(target, plugin, build)
        if not arguments.check:
            tables[target] = fit(target, counter, models, build)
        differences[target] = check(target, counter, tables[target], build, folder, arguments.nodes)
    if not arguments.check and arguments.targets == list(MACHINES):
        TABLE.write_text(written(tables, differences), encoding="utf-8")
    return 1 if max(differences.values()) > MOST_PERCENT else 0


if __name__ == "__main__":
    sys.exit(main())
