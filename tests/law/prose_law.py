#!/usr/bin/env python3
"""Laws of documents (CONTRIBUTING, "Rules"): sentences and first pages are short, and what a page points at is there.

  prose_law.py ROOT         every *.md of the tree
  prose_law.py --self-test

Sentences have at most MAX_WORDS words, outside tables, headings and blocks of code; words in backquotes
count. Pages have at most MAX_LINES lines. Relative
links lead to a file or folder of the tree, and to a heading where they name one. Paths in backquotes that begin with a
folder of the root exist: `tests/law/prose_law.py`, `tests/law` and `tests/law/prose_law` stand for files,
`tests/<unit>_test.cc` and `tests/*_test.cc` for at least one.
"""
import collections
import pathlib
import re
import sys

from file_law import SKIPPED_FOLDERS, files
from law_run import judge_planted, run

MAX_WORDS = 35
MAX_LINES = {"README.md": 130, "DESIGN.md": 300}  # of the root
FENCE = re.compile(r"^ *```.*?^ *```[^\n]*$", re.DOTALL | re.MULTILINE)
ITEM = re.compile(r"([-*]|\d+\.) +")
SPAN = re.compile(r"`([^`]*)`")
LINK = re.compile(r"\[([^\]]*)\]\(([^)\s]+)\)")
SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z\"`*(0-9])")


def without_fences(text):
    """Lines keep their numbers."""
    return FENCE.sub(lambda block: "\n" * block.group().count("\n"), text)


def paragraphs(text):
    """(number of its first line, text) of each paragraph and each item of a list."""
    first, lines = 0, []
    for number, line in enumerate(without_fences(text).split("\n") + [""], 1):
        words = line.strip()
        item = ITEM.match(words)
        code = line.startswith("    ") and not lines and not item
        if not words or code or item or words.startswith(("|", "#")):
            if lines:
                yield first, " ".join(lines)
            lines = []
            if not item:
                continue
            words = words[item.end():]
        if not lines:
            first = number
        lines.append(words)


def long_sentences(text):
    for first, paragraph in paragraphs(text):
        for sentence in SENTENCE_END.split(LINK.sub(r"\1", paragraph)):
            count = sum(1 for word in sentence.split() if re.search(r"\w", word))
            if count > MAX_WORDS:
                yield first, f"a sentence of {count} words, at most {MAX_WORDS}: {sentence}"


def anchors(text):
    """What GitHub makes of headings."""
    found, count = set(), collections.Counter()
    for heading in re.findall(r"^#+ +(.*?) *$", without_fences(text), re.MULTILINE):
        words = LINK.sub(r"\1", heading).lower()
        anchor = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
        found.add(f"{anchor}-{count[anchor]}" if count[anchor] else anchor)
        count[anchor] += 1
    return found


def is_built(root, path):
    return any(SKIPPED_FOLDERS.fullmatch(part) for part in path.relative_to(root).parts)


def broken_links(root, page, text):
    plain = without_fences(text)
    for match in LINK.finditer(SPAN.sub(lambda span: "X" * len(span.group()), plain)):
        target, _, anchor = match.group(2).partition("#")
        if re.match(r"\w+:", target):
            continue
        path = (page.parent / target).resolve() if target else page
        number = plain.count("\n", 0, match.start()) + 1
        if root not in (path, *path.parents) or not path.exists() or is_built(root, path):
            yield number, f"no such file: {match.group(2)}"
        elif anchor and (path.suffix != ".md" or anchor not in anchors(path.read_text(encoding="utf-8"))):
            yield number, f"no such heading: {match.group(2)}"


def missing_paths(root, page, text):
    plain = without_fences(text)
    for match in SPAN.finditer(plain):
        name = match.group(1).rstrip("/")
        folder = root / name.split("/")[0]
        if not re.fullmatch(r"[\w.*<>-]+(/[\w.*<>-]+)+", name) or not folder.is_dir() or is_built(root, folder):
            continue
        pattern = re.sub(r"<[^>]*>", "*", name)
        if not any(True for p in (pattern, pattern + ".*") for _ in root.glob(p)):
            yield plain.count("\n", 0, match.start()) + 1, f"no such path: {match.group(1)}"


def violations(root):
    root, found, count = root.resolve(), [], 0
    for page in files(root):
        if page.suffix != ".md":
            continue
        count += 1
        text = page.read_text(encoding="utf-8")
        lines = text.count("\n")
        if lines > MAX_LINES.get(page.relative_to(root).as_posix(), lines):
            found.append(f"{page.name}: {lines} lines, at most {MAX_LINES[page.name]}")
        for number, what in sorted([*long_sentences(text), *broken_links(root, page, text), *missing_paths(root, page, text)]):
            found.append(f"{page.relative_to(root).as_posix()}:{number}: {what}")
    return found, count


def self_test():
    longest, fence = "word " * (MAX_WORDS - 1) + "word.", "```"
    planted = {
        "README.md": "\n" * (MAX_LINES["README.md"] + 1), "docs/README.md": "\n" * 1000, "DESIGN.md": "\n" * MAX_LINES["DESIGN.md"],
        "build/page.md": f"one {longest}\n", "src/gemm_avx2.cc": "", "build/made.txt": "",
        "docs/good.md": f"# One `name`, twice\n\n{longest} {longest.capitalize()}\n\n| one {longest} |\n\n    code one {longest}\n\n{fence}\none {longest}\n"
                        f"[a](gone.md)\n{fence}\n- [a](good.md#one-name-twice), [b](#two), [c](../src), [d](https://example.org/x)\n"
                        "- `[e](gone.md)` `src/gemm_avx2.cc` `src/gemm_<isa>.cc` `src/gemm_avx2` `src/` `other/x.h` `src/a b`\n\n## Two\n",
        "docs/words.md": f"Short.\n\nOne\n{longest}\n",
        "docs/colons.md": "One: 2 `three; four + five` " + "word " * (MAX_WORDS - 5) + "word.\n",
        "docs/items.md": f"- Short.\n- One\n    {longest}\n",
        "docs/links.md": "[a](good.md) [b\nc](gone.md)\n\n[d](good.md#three)\n[e](../build/made.txt)\n[f](../../outside.md)\n",
        "docs/paths.md": "`src/gemm_avx2.cc`\n`src/gemm_neon.cc`\n`src/<family>_neon.cc`\n",
    }
    expected = ["README.md: 131 lines", "docs/colons.md:1: a sentence of 36", "docs/items.md:2: a sentence of 36",
                "docs/links.md:1: no such file", "docs/links.md:4: no such heading",
                "docs/links.md:5: no such file", "docs/links.md:6: no such file", "docs/paths.md:2: no such path",
                "docs/paths.md:3: no such path", "docs/words.md:3: a sentence of 36"]
    return judge_planted(violations, planted, expected)


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:], violations, self_test, "pages"))
