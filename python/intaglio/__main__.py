"""The command `intaglio`, as `python -m intaglio` and as the program that the wheel installs."""

import os
import sys

from . import _intaglio
from .words import encoded

# The program of a second start, with the folder of this package as its first word. Nothing is imported from the present folder.
_AGAIN = """
import sys
sys.path[:] = [place for place in sys.path if place]
folder = sys.argv.pop(1)
if folder not in sys.path:
    sys.path.append(folder)
from intaglio.__main__ import main
sys.exit(main())
"""


def main() -> int:
    words = sys.argv[1:]
    # OpenMP's idle threads sleep instead of spinning where its library finds this as it is loaded, which it was by now.
    settled = any(name in os.environ for name in ("OMP_WAIT_POLICY", "OMP_PROC_BIND", "OMP_PLACES", "GOMP_CPU_AFFINITY"))
    if not settled and any(word.startswith("--threads") for word in words):
        os.environ["OMP_WAIT_POLICY"] = "passive"
        os.environ.setdefault("GOMP_SPINCOUNT", "4000")
        folder = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        os.execv(sys.executable, [sys.executable, "-c", _AGAIN, folder, *words])
    return _intaglio.run_program([encoded(word) for word in words])


if __name__ == "__main__":
    sys.exit(main())
