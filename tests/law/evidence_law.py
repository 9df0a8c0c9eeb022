#!/usr/bin/env python3
"""Law of evidence: each promise of DESIGN.md and README.md names tests that exist, and docs/evidence.md says which.

  evidence_law.py ROOT
  evidence_law.py --self-test
"""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
sys.dont_write_bytecode = True
import evidence_page  # noqa: E402
from law_run import judge_planted, run  # noqa: E402

PLANTED = {
    "DESIGN.md": "# D\n\n## 1. The promises\n\n1. **Held.** So.\n2. **Bare.** No test.\n\n## 2. Next\n\n1. **No promise.** x\n",
    "README.md": "# R\n\n## What it does well\n\n- **Quick.** So.\n\n## On\n",
    "tests/CMakeLists.txt": "add_test(NAME ${name} COMMAND x)\nforeach(kind small large)\n  add_test(NAME kind_${kind} COMMAND x)\nendforeach()\n",
    "tests/unit_test.cc": 'TEST_CASE("it holds") {}\nTEST_CASE("a \\"quoted\\" one") {}\n',
    "tests/promises.txt": """# a comment
DESIGN: Held
  unit: it holds
  unit: a "quoted" one
  unit: it does not
  other: it holds
  test kind_small @ one, two
  test kind_tiny
  test absent
  unit
DESIGN: Unsaid
  unit: it holds
README: Quick
  test unit
""",
}
EXPECTED = [
    "tests/promises.txt:10: is neither",
    "DESIGN.md promises 'Bare', and tests/promises.txt names no test",
    "tests/promises.txt: tests/unit_test.cc has no test case 'it does not'",
    "tests/promises.txt: there is no file other_test.cc",
    "tests/promises.txt: there is no test kind_tiny",
    "tests/promises.txt: there is no test absent",
    "tests/promises.txt: DESIGN.md does not promise 'Unsaid'",
]


def violations(root):
    return evidence_page.check(root), len(evidence_page.promises(root))


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:], violations, lambda: judge_planted(violations, PLANTED, EXPECTED), "promises"))
