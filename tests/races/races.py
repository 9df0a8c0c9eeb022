#!/usr/bin/env python3
"""Every file that a command writes: where another process replaces it while the command works, the command says so, and what the
other one wrote stays. The other process comes when the command syncs its first temporary file (race_shim.c): no clock is asked.

  races.py INTAGLIO SHIM DEMO
"""
import os
import pathlib
import subprocess
import sys
import tempfile

intaglio, shim, demo = sys.argv[1:]
OTHER = b"of another program"
demo = pathlib.Path(demo)

# The file that a command writes, and the command; OUT is the file that another process replaces.
NEW = "the file is not there before"
CASES = {
    "import": "import DEMO/meter.onnx --pixels 0..1 -o OUT",
    "calibrate": "calibrate net.itg --images pictures -o OUT",
    "its report": "calibrate net.itg --images pictures -o other.itg --report OUT",
    "observe": "observe net.itg --images pictures -o OUT",
    "merge": "merge some.itgcal -o OUT",
    "params export": "params export net.int8.itg --format ppq -o OUT",
    "params import": "params import net.itg known.json --format ppq -o OUT",
    "plan": "plan net.int8.itg -o OUT",
    "pack": "pack net.int8.itg --isa avx2 -o OUT",
    "export-onnx": "export-onnx net.int8.itg --from DEMO/meter.onnx -o OUT",
    "export-tflite": "export-tflite net.int8.itg -o OUT",
    "run": "run net.itg --input picture.png --output OUT",
}
NAMES = {"its report": "report.html", "observe": "samples.itgcal", "merge": "all.itgcal", "params export": "params.json", "export-onnx": "out.onnx",
         "export-tflite": "out.tflite", "run": "out.npy"}
EXPORT_C = ["net_model.h", "net_model.cc", "net_model_data.c"]


def run(folder, words, race=None):
    environment = dict(os.environ)
    if race:
        environment.update(LD_PRELOAD=shim, RACE_PATH=str(race))
    return subprocess.run([intaglio, *words.replace("DEMO", str(demo)).split()], cwd=folder, env=environment, capture_output=True,
                          text=True)


def fail(text):
    sys.exit(f"races: {text}")


def expect_stays(done, path, what):
    if done.returncode != 1 or f"{path.name}: another program has written it" not in done.stderr:
        fail(f"{what}: exit code {done.returncode}: {done.stderr}")
    if path.read_bytes() != OTHER:
        fail(f"{what}: {path.name} is not what the other program wrote")


def main():
    tried = 0
    with tempfile.TemporaryDirectory() as work:
        work = pathlib.Path(work)
        (work / "pictures").mkdir()
        pictures = sorted((demo / "calibration").glob("*.png"))[:4]
        for picture in pictures:
            (work / "pictures" / picture.name).write_bytes(picture.read_bytes())
        (work / "picture.png").write_bytes(pictures[0].read_bytes())
        for words in ("import DEMO/meter.onnx --pixels 0..1 -o net.itg", "calibrate net.itg --images pictures -o net.int8.itg",
                      "params export net.int8.itg --format ppq -o known.json", "observe net.itg --images pictures -o some.itgcal"):
            done = run(work, words)
            if done.returncode != 0:
                fail(f"{words}: {done.stderr}")
        for what, words in CASES.items():
            path = work / NAMES.get(what, "out.itg")
            for was_there in (False, True):
                path.unlink(missing_ok=True)
                words_here = words.replace("OUT", path.name)
                if was_there and run(work, words_here).returncode != 0:
                    fail(f"{what}: does not run: {run(work, words_here).stderr}")
                expect_stays(run(work, words_here, path), path, what)
                tried += 1
        # No file of a set is replaced.
        for raced in EXPORT_C:
            folder = work / f"exported_{raced.replace('.', '_')}"
            words = f"export-c net.int8.itg -o {folder.name}"
            if run(work, words).returncode != 0:
                fail(run(work, words).stderr)
            before = {name: (folder / name).stat().st_ino for name in EXPORT_C}
            expect_stays(run(work, words, folder / raced), folder / raced, f"export-c, {raced}")
            changed = [name for name in EXPORT_C if name != raced and (folder / name).stat().st_ino != before[name]]
            if changed:
                fail(f"export-c: {changed} of the set are replaced beside {raced}")
            tried += 1
        left = [path.name for path in work.rglob("*.tmp")]
        if left:
            fail(f"left behind: {left}")
    print(f"{tried} races, and what the other program wrote stays in each")


main()
