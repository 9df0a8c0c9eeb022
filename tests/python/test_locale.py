"""Numbers do not follow the locale of the process: the same files, texts and answers with commas as without."""
import os
import re
import shutil
import subprocess
import sys

import pytest

COMMAS = 'LC_NUMERIC\ndecimal_point "<U002C>"\nthousands_sep "<U002E>"\ngrouping 3\nEND LC_NUMERIC\n'
SCRIPT = """
import locale, pathlib, sys
import numpy as np
import intaglio
if sys.argv[1] == "commas":
    locale.setlocale(locale.LC_NUMERIC, "commas")
    assert locale.str(1.5) == "1,5"
demo = pathlib.Path(sys.argv[2])
net = intaglio.import_onnx(demo / "meter.onnx", mean=127.5, norm=0.00784)
x = np.random.default_rng(0).integers(0, 256, size=(8, 28, 28, 3), dtype=np.uint8)
int8 = intaglio.calibrate(net, x, method="percentile", percentile=0.999, min_sqnr=20.5, report="page.html")
net.save("net.itg")
int8.save("int8.itg")
for name in ("tengine-uint8", "ppq", "aimet", "amct"):
    intaglio.command("params", "export", "int8.itg", "--format", name, "-o", name + ".params")
intaglio.command("params", "import", "net.itg", "tengine-uint8.params", "--format", "tengine-uint8", "-o", "again.itg")
intaglio.command("export-c", "int8.itg", "-o", "net")
for words in (("inspect", "int8.itg", "--ops"), ("inspect", "int8.itg", "--json"), ("verify", "int8.itg")):
    pathlib.Path("-".join(words) + ".text").write_text(intaglio.command(*words))
"""


@pytest.fixture
def commas(tmp_path):
    """A folder with a locale of commas, for LOCPATH."""
    if shutil.which("localedef") is None:
        pytest.skip("localedef is not here")
    (tmp_path / "source").write_text(COMMAS)
    subprocess.run(["localedef", "-c", "--no-archive", "-i", tmp_path / "source", tmp_path / "commas"], capture_output=True)
    return tmp_path


def without_times(path):
    """What a clock wrote, with a decimal point, differs from run to run."""
    return re.sub(rb"\b\d+(\.\d+)? (s|min)\b", b"TIME", path.read_bytes())


def test_a_comma_changes_nothing(commas, demo):
    made = {}
    for name in ("C", "commas"):
        folder = commas / ("in_" + name)
        folder.mkdir()
        environment = {**os.environ, "LOCPATH": str(commas)}
        subprocess.run([sys.executable, "-c", SCRIPT, name, demo], cwd=folder, env=environment, check=True)
        made[name] = {path.relative_to(folder).as_posix(): without_times(path) for path in sorted(folder.rglob("*")) if path.is_file()}
    assert len(made["C"]) > 12
    assert made["C"].keys() == made["commas"].keys()
    for file, data in made["C"].items():
        assert made["commas"][file] == data, file
