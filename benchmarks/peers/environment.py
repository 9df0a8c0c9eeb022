"""Starts a script again inside a virtual environment of its own, build/peers/venv, that has the packages it needs."""
import importlib.util
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
WORK = ROOT / "build/peers"
WITHOUT_DEPENDENCIES = {"pnnx"}  # a program of its own; the package would bring torch


def enter(packages, optional=()):
    """`packages`: {module: package}, without which the script stops; `optional` ones may fail to install."""
    python = WORK / "venv/bin/python"
    if pathlib.Path(sys.prefix) != WORK / "venv":
        if not python.exists():
            subprocess.run([sys.executable, "-m", "venv", WORK / "venv"], check=True)
        os.execv(python, [str(python), *sys.argv])
    install = [sys.executable, "-m", "pip", "install", "-q", "--only-binary", ":all:"]
    missing = [package for module, package in packages.items() if not found(module)]
    if missing:
        print(f"installing {' '.join(missing)} into {WORK / 'venv'}", file=sys.stderr)
        subprocess.run([*install, *missing], check=True)
    for module, package in dict(optional).items():
        if found(module):
            continue
        print(f"installing {package} into {WORK / 'venv'}", file=sys.stderr)
        alone = ["--no-deps"] if package in WITHOUT_DEPENDENCIES else []
        if subprocess.run([*install, *alone, package]).returncode != 0:
            print(f"{package} cannot be installed", file=sys.stderr)


def found(module):
    return importlib.util.find_spec(module) is not None
