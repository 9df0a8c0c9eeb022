"""What `exported`, `exported_tflite` and `random_networks` share: the command, its results, their arguments."""
import argparse
import pathlib
import subprocess

import environment
import shared_networks


def command(path, *words):
    """What it says on stderr."""
    done = subprocess.run([str(path), *map(str, words)], capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, words))}: {done.stderr}")
    return done.stderr


def onnxruntime_session(path):
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 3
    return onnxruntime.InferenceSession(path if isinstance(path, bytes) else str(path), options, providers=["CPUExecutionProvider"])


def run_ours(arguments, model, inputs, work, is_turned=True):
    """FP32 outputs; inputs [n, c, h, w] as the file takes them, which the model may take as [n, h, w, c]."""
    import numpy
    numpy.save(work / "x.npy", numpy.ascontiguousarray(inputs.transpose(0, 2, 3, 1)) if is_turned else inputs)
    command(arguments.command, "run", model, "--input", work / "x.npy", "--output", work / "y.npy", "--top", 1)
    return numpy.load(work / "y.npy")


def arguments(description, known):
    """`known`: the names that may be given, and are all meant where none is. None: any, as they stand."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--command", type=pathlib.Path, default=environment.ROOT / "build/host/cli/intaglio")
    parser.add_argument("--work", type=pathlib.Path, default=environment.ROOT / "build/peers")
    parser.add_argument("--pictures", type=int, default=50)
    parser.add_argument("names", nargs="*")
    found = parser.parse_args()
    if known is not None:
        found.names = environment.known_names(found.names, known)
    environment.require_command(found.command)
    if found.pictures < 1:
        parser.error("--pictures must be above 0")
    found.work.mkdir(parents=True, exist_ok=True)
    return found
