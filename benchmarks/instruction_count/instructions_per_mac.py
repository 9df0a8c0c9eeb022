#!/usr/bin/env python3
"""Executed instructions a multiply-accumulate, under qemu-user with instruction_plugin.so.

  instructions_per_mac.py --plugin P --program counted_run --machine aarch64 --emulator "qemu-aarch64;-L;..."
                          [--model FILE]... [--functions KERNEL]

Fails where a kernel takes more than LIMITS says. Not a measure of time: see benchmarks/results/arm_instructions.md.
"""
import argparse
import re
import subprocess
import sys

# (machine, kernel): (qemu's CPU, the most instructions a multiply-accumulate): what was reached. XNNPACK's own kernels of the
# first three's shape take 0.077, 0.085 and 0.254.
LIMITS = {
    ("aarch64", "gemm_s8_neoni8mm"): ("max", 0.065),
    ("aarch64", "gemm_s8_neondot"): ("cortex-a76", 0.087),
    ("aarch64", "gemm_s8_neon"): ("cortex-a53", 0.25),
    ("aarch64", "winograd_s8_neon"): ("cortex-a53", 0.127),
    # More instructions on purpose: in_order_model.py says what for.
    ("aarch64", "gemm_s8_neona53"): ("cortex-a53", 0.36),
    ("aarch64", "gemm_s8_neona55"): ("cortex-a76", 0.125),
    ("aarch64", "dwconv_s8_neon"): ("cortex-a53", 0.72),
    ("aarch64", "dwconv_3x3_s8_neon"): ("cortex-a53", 0.61),
    ("aarch64", "dwconv_3x3_s8_neondot"): ("cortex-a76", 0.44),
    ("aarch64", "dwconv_3x3_s8_neona53"): ("cortex-a53", 0.70),
    ("aarch64", "dwconv_3x3_s8_neona55"): ("cortex-a76", 0.55),
    ("aarch64", "gemm_f32_neon"): ("cortex-a53", 0.33),
    ("aarch64", "dwconv_f32_neon"): ("cortex-a53", 1.15),
    ("aarch64", "dwconv_lines_f32_neon"): ("cortex-a53", 0.69),
    ("aarch64", "gemm_s16_neon"): ("cortex-a53", 0.425),
    ("aarch64", "matmul_s16_neon"): ("cortex-a53", 1.53),
    ("aarch64", "dwconv_s16_neon"): ("cortex-a53", 1.92),
    ("aarch64", "gemv_s8_f32_neon"): ("cortex-a53", 0.48),
    ("aarch64", "gemv_s8_f32_neondot"): ("cortex-a76", 0.29),
    ("aarch64", "mean_s8_f32_neon"): ("cortex-a53", 2.15),
    ("aarch64", "average_s8_neon"): ("cortex-a53", 0.96),
    ("aarch64", "max_s8_neon"): ("cortex-a53", 0.52),
    ("aarch64", "add_s8_neon"): ("cortex-a53", 2.06),
    ("aarch64", "mul_s8_neon"): ("cortex-a53", 2.45),
    ("aarch64", "lookup_s8_neon"): ("cortex-a53", 1.10),
    ("aarch64", "softmax_s8_neon"): ("cortex-a53", 12.0),
    ("aarch64", "softmax_s16_neon"): ("cortex-a53", 15.6),
    ("aarch64", "normalize_groups_s8_neon"): ("cortex-a53", 7.70),
    ("aarch64", "normalize_groups_s16_neon"): ("cortex-a53", 7.30),
    ("aarch64", "normalize_groups_f32_neon"): ("cortex-a53", 11.6),
    ("aarch64", "quantize_s8_neon"): ("cortex-a53", 1.95),
    ("aarch64", "dequantize_s8_neon"): ("cortex-a53", 1.70),
    ("aarch64", "resize_s8_neon"): ("cortex-a53", 4.60),
    ("aarch64", "resize_f32_neon"): ("cortex-a53", 5.80),
    ("aarch64", "average_f32_neon"): ("cortex-a53", 1.52),
    ("aarch64", "max_f32_neon"): ("cortex-a53", 1.65),
    ("aarch64", "add_f32_neon"): ("cortex-a53", 2.20),
    ("aarch64", "mul_f32_neon"): ("cortex-a53", 2.20),
    ("aarch64", "patch_sums_s8_neon"): ("cortex-a53", 4.90),
    ("aarch64", "patch_sums_f32_neon"): ("cortex-a53", 5.70),
    ("aarch64", "extremes_f32_neon"): ("cortex-a53", 1.20),
    ("aarch64", "count_f32_neon"): ("cortex-a53", 8.40),
    ("armv7", "gemm_s8_neon"): ("cortex-a7", 0.36),
    ("armv7", "winograd_s8_neon"): ("cortex-a7", 0.170),
    ("armv7", "dwconv_s8_neon"): ("cortex-a7", 1.30),
    ("armv7", "dwconv_3x3_s8_neon"): ("cortex-a7", 1.15),
    ("armv7", "gemm_f32_neon"): ("cortex-a7", 0.72),
    ("armv7", "dwconv_f32_neon"): ("cortex-a7", 7.20),
    ("armv7", "dwconv_lines_f32_neon"): ("cortex-a7", 4.50),
    ("armv7", "gemm_s16_neon"): ("cortex-a7", 0.485),
    ("armv7", "matmul_s16_neon"): ("cortex-a7", 2.35),
    ("armv7", "dwconv_s16_neon"): ("cortex-a7", 2.10),
    ("armv7", "gemv_s8_f32_neon"): ("cortex-a7", 0.64),
    ("armv7", "mean_s8_f32_neon"): ("cortex-a7", 2.95),
    ("armv7", "average_s8_neon"): ("cortex-a7", 1.10),
    ("armv7", "max_s8_neon"): ("cortex-a7", 0.57),
    ("armv7", "add_s8_neon"): ("cortex-a7", 2.45),
    ("armv7", "mul_s8_neon"): ("cortex-a7", 3.10),
    ("armv7", "softmax_s8_neon"): ("cortex-a7", 15.0),
    ("armv7", "softmax_s16_neon"): ("cortex-a7", 24.3),
    ("armv7", "normalize_groups_s8_neon"): ("cortex-a7", 11.0),
    ("armv7", "normalize_groups_s16_neon"): ("cortex-a7", 11.8),
    ("armv7", "quantize_s8_neon"): ("cortex-a7", 7.70),
    ("armv7", "dequantize_s8_neon"): ("cortex-a7", 2.20),
    ("armv7", "resize_s8_neon"): ("cortex-a7", 7.10),
    ("armv7", "patch_sums_s8_neon"): ("cortex-a7", 8.40),
    ("armv7", "extremes_f32_neon"): ("cortex-a7", 1.60),
    # The kernels of Cortex-M4 and M7, on ARMv7 Linux.
    ("armv7-dsp", "gemm_s8_dsp"): ("cortex-a7", 0.875),
    ("armv7-dsp", "gemm_s16_dsp"): ("cortex-a7", 3.25),
    ("armv7-dsp", "dwconv_s8_dsp"): ("cortex-a7", 6.40),
    ("armv7-dsp", "normalize_groups_s8_dsp"): ("cortex-a7", 28.8),
    ("armv7-dsp", "normalize_groups_s16_dsp"): ("cortex-a7", 29.7),
}


def execute(arguments, cpu, words, functions=False):
    emulator = arguments.emulator.split(";")
    plugin = arguments.plugin + (",functions=on" if functions else "")
    command = [emulator[0], "-cpu", cpu, "-plugin", plugin, "-d", "plugin", *emulator[1:], arguments.program, *words]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: {done.returncode}: {done.stderr.strip()}")
    counts = {name: int(count) for count, name in re.findall(r"^instructions (\d+)(?: (.+))?$", done.stderr, re.MULTILINE)}
    return int(re.search(r"^macs (\d+)$", done.stdout, re.MULTILINE).group(1)), counts


def count(arguments, cpu, words, functions=False):
    """Multiply-accumulates and instructions of one run: of three runs less those of two, so that what happens
    once (loading, packing, resolving a symbol) does not count."""
    macs, fewer = execute(arguments, cpu, [words[0], "2", *words[1:]], functions)
    _, more = execute(arguments, cpu, [words[0], "3", *words[1:]], functions)
    return macs, {name: n - fewer.get(name, 0) for name, n in more.items()}


def main():
    parser = argparse.ArgumentParser()
    for name in ("plugin", "program", "machine", "emulator"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--model", action="append", default=[])
    parser.add_argument("--functions", help="the functions that one kernel's instructions are executed in")
    arguments = parser.parse_args()
    machine = re.sub("^armv7l?", "armv7", arguments.machine)
    limits = {kernel: limit for (where, kernel), limit in LIMITS.items() if where == machine}
    if arguments.functions:
        macs, counts = count(arguments, limits[arguments.functions][0], [arguments.functions], True)
        for name, n in sorted(counts.items(), key=lambda entry: -entry[1]):
            if n > 0 and name:
                print(f"{n:12} {n / macs:8.4f} {name}")
        return 0
    print(f"{'kernel':26} {'cpu':12} {'MAC':>12} {'instructions':>13} {'per MAC':>8} {'at most':>8}")
    failed = False
    for kernel, (cpu, limit) in limits.items():
        macs, counts = count(arguments, cpu, [kernel])
        ratio = counts[""] / macs
        failed |= ratio > limit
        print(f"{kernel:26} {cpu:12} {macs:12} {counts['']:13} {ratio:8.4f} {limit:8.3f}{' FAILED' if ratio > limit else ''}")
    for model in arguments.model:
        for cpu in sorted({cpu for cpu, _ in limits.values()}):
            macs, counts = count(arguments, cpu, ["model", model])
            print(f"{model.split('/')[-1]:26} {cpu:12} {macs:12} {counts['']:13} {counts[''] / macs:8.4f}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
