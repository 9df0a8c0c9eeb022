"""The command `intaglio`, as `python -m intaglio` and as the program that the wheel installs."""

import os
import sys

from . import _intaglio


def main() -> int:
    words = sys.argv[1:]
    # OpenMP's idle threads sleep instead of spinning where its library finds this as it is loaded, which it was by now.
    settled = any(name in os.environ for name in ("OMP_WAIT_POLICY", "OMP_PROC_BIND", "OMP_PLACES", "GOMP_CPU_AFFINITY"))
    if not settled and any(word.startswith("--threads") for word in words):
        os.environ["OMP_WAIT_POLICY"] = "passive"
        os.environ.setdefault("GOMP_SPINCOUNT", "4000")
        os.execv(sys.executable, [sys.executable, "-m", "intaglio", *words])
    return _intaglio.run_program(words)


if __name__ == "__main__":
    sys.exit(main())
