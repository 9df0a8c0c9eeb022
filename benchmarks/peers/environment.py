"""Starts a script again inside a virtual environment of its own, build/peers/venv, that has the packages it needs; and
judges arguments that several scripts take."""
import argparse
import importlib.util
import os
import pathlib
import shutil
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
            made = subprocess.run([sys.executable, "-m", "venv", WORK / "venv"])
            if made.returncode != 0:  # what it leaves has no pip
                shutil.rmtree(WORK / "venv", ignore_errors=True)
                sys.exit("python's venv cannot be made; on Debian: apt-get install python3-venv")
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


def require_command(path):
    if not path.exists():
        sys.exit(f"{path} is absent: build it (scripts/test host)")


def known_names(names, known):
    """The chosen ones, or all of them; ends where one is not known."""
    for name in names or ():
        if name not in known:
            sys.exit(f"there is no network {name}; there are {', '.join(known)}")
    return list(names or known)


def counts(text):
    """The numbers of an argument such as 4,8,16, each above 0."""
    words = text.split(",")
    if not all(word.isdecimal() and int(word) > 0 for word in words):
        raise argparse.ArgumentTypeError(f"'{text}' is no list of numbers above 0, such as 4,8")
    return [int(word) for word in words]


def found(module):
    return importlib.util.find_spec(module) is not None
