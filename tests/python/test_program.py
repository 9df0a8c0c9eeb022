"""The package in a process: beside other code, at the end of a pipe, and as the command that the wheel installs."""

import os
import pathlib
import signal
import subprocess
import sys
import textwrap
import threading

import pytest

import intaglio


def python(code, *words, **more):
    return subprocess.run([sys.executable, "-c", textwrap.dedent(code), *map(str, words)], capture_output=True, text=True, **more)


def test_a_command_leaves_the_hosts_stdout_alone():
    """What the host's own C code has printed is neither written nor lost, and a closed stdout is no fault of a command."""
    said = python("""
        import ctypes, os, intaglio
        libc = ctypes.CDLL(None)
        libc.printf(b"of the host\\n")
        kept = os.dup(1)
        os.close(1)
        assert "intaglio" in intaglio.command("--version")
        os.dup2(kept, 1)
    """)
    assert said.returncode == 0 and said.stdout == "of the host\n", said.stderr


def test_waiting_for_another_command_ends_by_ctrl_c(net, pictures):
    inside, go_on = threading.Event(), threading.Event()

    def progress(stage, done, total):
        if not inside.is_set():  # once, so that a test that fails ends
            inside.set()
            go_on.wait(30)

    worker = threading.Thread(target=lambda: intaglio.calibrate(net, pictures, progress=progress))
    worker.start()
    assert inside.wait(60)
    pressed = threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT))
    try:
        pressed.start()
        with pytest.raises(KeyboardInterrupt):
            intaglio.command("--version")
        assert not go_on.is_set() and worker.is_alive()
    finally:
        pressed.join()
        go_on.set()
        worker.join()


def test_the_command_imports_nothing_from_the_present_folder(int8, tmp_path):
    """It starts anew for --threads: also then."""
    int8.save(tmp_path / "net.itg")
    for name in ("intaglio", "numpy", "json"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('a file of the present folder was run')\n")
    program = tmp_path / "bin" / "intaglio"
    program.parent.mkdir()
    program.write_text("import sys\nfrom intaglio.__main__ import main\nsys.exit(main())\n")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("OMP_", "GOMP_"))}
    environment["PYTHONPATH"] = str(pathlib.Path(intaglio.__file__).parent.parent)
    said = subprocess.run([sys.executable, program, "bench", "net.itg", "--repeats", "1", "--threads", "2", "--json"], cwd=tmp_path,
                          env=environment, capture_output=True, text=True)
    assert said.returncode == 0 and '"threads": 2' in said.stdout, said.stdout + said.stderr
