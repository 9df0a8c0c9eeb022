#!/usr/bin/env python3
"""Tries a static command: check_static_command.py BINARY --command COMMAND --machine MACHINE

BINARY needs no shared library and has at most 10 MB. In a root folder that holds nothing but it and the demo's files it imports,
calibrates, exports, evaluates and runs. So it does under qemu-user, as the oldest CPU of its kind and with the oldest kernel that
Debian's C library starts on. Every file and every result equals that of COMMAND, which is this machine's. Two real networks of
INTAGLIO_SHARED (../shared) are calibrated, too, once here and once under qemu-user.
"""
import argparse
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SHARED = pathlib.Path(os.environ.get("INTAGLIO_SHARED", ROOT.parent / "shared"))
MAX_BYTES = 10_000_000
# Each machine under qemu-user: its emulator, and {what it shows: options}. The kernels are the oldest ones that glibc allows.
EMULATED = {"x86_64": ("qemu-x86_64", {"the oldest CPU, Linux 3.2": ["-cpu", "qemu64", "-r", "3.2.0"],
                                       "a CPU without AVX": ["-cpu", "Nehalem"]}),
            "aarch64": ("qemu-aarch64", {"a Cortex-A53, Linux 3.7": ["-cpu", "cortex-a53", "-r", "3.7.0"],
                                         "every instruction": ["-cpu", "max"]})}
# Networks of SHARED, with the folder of their pictures and what tells how pictures become the input.
NETWORKS = {"resnet8_fp32": ("cifar10_jpeg_2000", ["--pixels", "0..255"]), "vww_96_fp32": ("vww_1000", ["--pixels", "0..1"])}
PICTURES = 4


def demo_steps():
    yield ["import", "demo/meter.onnx", "-o", "out/meter.itg", "--pixels", "-1..1"]
    yield ["calibrate", "out/meter.itg", "--images", "demo/calibration", "-o", "out/meter.int8.itg", "--threads", "2"]
    yield ["export-onnx", "out/meter.int8.itg", "--from", "demo/meter.onnx", "-o", "out/meter.onnx"]
    yield ["export-tflite", "out/meter.int8.itg", "-o", "out/meter.tflite"]
    yield ["eval", "out/meter.int8.itg", "--images", "demo/calibration", "--labels", "demo/calibration_labels.txt", "--json"]
    yield ["run", "out/meter.int8.itg", "--input", "demo/calibration", "--json"]
    yield ["run", "out/meter.itg", "--input", "demo/calibration", "--json", "--threads", "2"]
    yield ["verify", "out/meter.int8.itg"]


def network_steps(name):
    pixels = NETWORKS[name][1]
    yield ["import", f"networks/{name}.onnx", "-o", f"out/{name}.itg", *pixels]
    yield ["calibrate", f"out/{name}.itg", "--images", f"networks/{name}", "-o", f"out/{name}.int8.itg"]
    yield ["run", f"out/{name}.int8.itg", "--input", f"networks/{name}", "--json"]


def lay_out(folder, networks):
    """The files that the steps read, below `folder`."""
    shutil.copytree(ROOT / "demo", folder / "demo", ignore=shutil.ignore_patterns("*.py", "test"))
    (folder / "networks").mkdir()
    (folder / "out").mkdir()
    for name in networks:
        pictures = NETWORKS[name][0]
        shutil.copy(SHARED / "models" / f"{name}.onnx", folder / "networks")
        (folder / "networks" / name).mkdir()
        for picture in sorted((SHARED / "images" / pictures).glob("*.jpg"))[:PICTURES]:
            shutil.copy(picture, folder / "networks" / name)


def results(words, folder, networks):
    """{name: digest} of every file that the steps make, and of what some of them print."""
    lay_out(folder, networks)
    steps = [*demo_steps()]
    for network in networks:
        steps += network_steps(network)
    found = {}
    for step in steps:
        done = subprocess.run([*words, *step], cwd=folder, capture_output=True, env={"OMP_WAIT_POLICY": "passive", "PATH": os.environ["PATH"]})
        if done.returncode != 0:
            sys.exit(f"static_command: {' '.join(map(str, [*words, *step]))}: exit code {done.returncode}:\n{done.stderr.decode()}")
        if step[0] in ("eval", "run"):
            found[" ".join(step)] = hashlib.sha256(done.stdout).hexdigest()
    for path in sorted((folder / "out").iterdir()):
        found[path.name] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found


def check_form(binary):
    size = binary.stat().st_size
    if size > MAX_BYTES:
        sys.exit(f"static_command: {binary} has {size} bytes, at most {MAX_BYTES}")
    said = subprocess.run(["readelf", "--program-headers", "--dynamic", "--wide", binary], check=True, capture_output=True, text=True).stdout
    for word in ("INTERP", "NEEDED"):
        if word in said:
            sys.exit(f"static_command: {binary} needs shared libraries: readelf finds {word}")
    print(f"static_command: {size} bytes, and needs no shared library")


def ways(binary, machine, root, networks):
    """(what it is, the words that run the command, which networks are tried) for each way that this machine has."""
    if machine == os.uname().machine:
        root.mkdir()
        shutil.copy(binary, root / "intaglio")
        # An ordinary user needs a namespace of its own for that, which not every machine allows.
        words = ["chroot", root] if os.geteuid() == 0 else ["unshare", "--map-root-user", "--root", root, "--wd", "/"]
        started = subprocess.run([*words, "/intaglio", "--version"], capture_output=True, text=True)
        if started.returncode == 0:
            yield "an empty root folder", [*words, "/intaglio"], networks
        else:
            print(f"static_command: not tried in an empty root folder: {started.stderr.strip()}")
    emulator, options = EMULATED[machine]
    if not shutil.which(emulator):
        print(f"static_command: not tried under {emulator}, which is not installed: scripts/setup --cross")
        return
    for number, (what, chosen) in enumerate(options.items()):
        yield f"{emulator}, {what}", [emulator, *chosen, binary], [] if number else networks


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary", type=pathlib.Path)
    parser.add_argument("--command", type=pathlib.Path, required=True)
    parser.add_argument("--machine", choices=sorted(EMULATED), required=True)
    arguments = parser.parse_args()
    binary = arguments.binary.resolve()
    check_form(binary)
    networks = [name for name in NETWORKS if (SHARED / "models" / f"{name}.onnx").is_file()]
    for name in NETWORKS.keys() - set(networks):
        print(f"static_command: {name} is not tried: it is not in {SHARED}")
    with tempfile.TemporaryDirectory() as work:
        work = pathlib.Path(work)
        (work / "here").mkdir()
        expected = results([arguments.command.resolve()], work / "here", networks)
        tried = 0
        for number, (way, words, some) in enumerate(ways(binary, arguments.machine, work / "root", networks)):
            folder = work / ("root" if words[-1] == "/intaglio" else str(number))
            folder.mkdir(exist_ok=True)
            found = results(words, folder, some)
            for name in expected if some else found:
                if expected.get(name) != found.get(name):
                    sys.exit(f"static_command: {way}: {name} differs from what {arguments.command} makes")
            said = subprocess.run([*words, "--version"], check=True, cwd=folder, capture_output=True, text=True).stdout.splitlines()
            print(f"static_command: {way}: {len(found)} results as this machine's command has them; {said[-1]}")
            tried += 1
    if not tried:
        sys.exit("static_command: it could be tried nowhere")
    for name, digest in expected.items():
        print(f"{digest}  {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
