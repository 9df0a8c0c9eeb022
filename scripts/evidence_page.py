"""Makes docs/evidence.md, and finds promises without tests: see scripts/evidence."""
import pathlib
import re

LIST, PAGE = "tests/promises.txt", "docs/evidence.md"
SECTIONS = {"DESIGN": ("## 1. The promises", re.compile(r"^\d+\. \*\*(.+?)\.?\*\*", re.MULTILINE)),
            "README": ("## What it does well", re.compile(r"^- \*\*(.+?)\.?\*\*", re.MULTILINE))}
CASE = re.compile(r'TEST_CASE\(\s*"((?:[^"\\]|\\.)*)"')
CALL = re.compile(r"^\s*(\w+)\(([\w+-]+)", re.MULTILINE)
NO_TESTS = {"set", "if", "elseif", "foreach", "function", "macro", "option", "list", "include", "find_program", "find_package", "return", "string", "file"}
NAMED = re.compile(r"(?:add_test\(NAME|itg_law\()\s*([\w${}+.-]+)")


def promises(root):
    """{(page, words)}, in the order of the pages."""
    found = {}
    for page, (heading, pattern) in SECTIONS.items():
        text = (root / f"{page}.md").read_text(encoding="utf-8")
        section = text.split(heading + "\n", 1)[1].split("\n## ", 1)[0]
        for match in pattern.finditer(section):
            found[page, match.group(1)] = []
    return found


def read_list(root):
    """{(page, words): [("case", unit, title) or ("test", name, places)]}, and the lines that are not understood."""
    found, wrong, key = {}, [], None
    for number, line in enumerate((root / LIST).read_text(encoding="utf-8").splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        if not line.startswith(" "):
            page, _, words = line.partition(": ")
            key = (page, words)
            if key in found:
                wrong.append(f"{LIST}:{number}: the promise is listed twice")
            found[key] = []
            continue
        words = line.strip()
        unit, _, title = words.partition(": ")
        name, _, places = words[5:].partition(" @ ")
        entry = ("test", name, places) if words.startswith("test ") else ("case", unit, title)
        if key is None or (entry[0] == "case" and not title):
            wrong.append(f"{LIST}:{number}: is neither 'unit: test case' nor 'test NAME' below a promise")
            continue
        found[key].append(entry)
    return found, wrong


def unit_file(root, unit):
    return next(iter(sorted(root.glob(f"tests/**/{unit}_test.cc"))), None)


def cases_of(path):
    return [title.replace('\\"', '"') for title in CASE.findall(path.read_text(encoding="utf-8"))]


def has_test(root, name):
    """Whether a CMakeLists.txt adds a test of this name. What a variable stands for is in a foreach()
    of that file, or the first word of a call there."""
    if unit_file(root, name):
        return True
    for path in [*root.glob("tests/**/CMakeLists.txt"), *root.glob("examples/**/CMakeLists.txt"), *root.glob("benchmarks/**/CMakeLists.txt")]:
        text = re.sub(r"#.*", "", path.read_text(encoding="utf-8"))
        lists = {name: words.split() for name, words in re.findall(r"set\((\w+)\s([^)]*)\)", text)}
        given = {word for call, word in CALL.findall(text) if call not in NO_TESTS}
        for words in re.findall(r"foreach\(\w+\s([^)]*)\)", text):
            words = words.split()
            if words[:2] == ["IN", "LISTS"]:
                words = [word for name in words[2:] for word in lists.get(name, [])]
            given.update(word.strip('"').partition("=")[0] for word in words)
        for pattern in NAMED.findall(text):
            literal = re.sub(r"\$\{\w+\}", "", pattern)
            if len(literal) < 4:
                continue
            match = re.fullmatch(re.sub(r"\\\$\\\{\w+\\\}", "([\\\\w+-]+)", re.escape(pattern)), name)
            if match and all(part in given for part in match.groups()):
                return True
    return False


def problems(root):
    found, wrong = read_list(root)
    wanted = promises(root)
    for page, words in wanted:
        if not found.get((page, words)):
            wrong.append(f"{page}.md promises '{words}', and {LIST} names no test that holds it")
    for (page, words), entries in found.items():
        if (page, words) not in wanted:
            wrong.append(f"{LIST}: {page}.md does not promise '{words}'")
        for kind, name, title in entries:
            path = unit_file(root, name)
            if kind == "test" and not has_test(root, name):
                wrong.append(f"{LIST}: there is no test {name}")
            if kind == "case" and path is None:
                wrong.append(f"{LIST}: there is no file {name}_test.cc")
            elif kind == "case" and title not in cases_of(path):
                wrong.append(f"{LIST}: {path.relative_to(root)} has no test case '{title}'")
    return wrong


def runs(root, unit):
    """Which of scripts/test's builds run a unit: all of them where it depends on the CPU's kernels."""
    cmake = (root / "tests/CMakeLists.txt").read_text(encoding="utf-8")
    kernels = re.search(r"set\(kernel_units([^)]*)\)", cmake)
    everywhere = kernels is not None and unit in kernels.group(1).split()
    return "host, sanitizers" + (", scalar, AArch64, ARMv7" if everywhere else "")


def page_text(root):
    found, _ = read_list(root)
    lines = ["# Evidence", "",
             f"Made by `scripts/evidence` from `{LIST}` and the tests' own names. Each test below is there to fail without the promise above",
             "it. `scripts/test` runs all of them for each change; those of real models need INTAGLIO_SHARED. A test case is run by `scripts/unit UNIT "
             "--test-case='TITLE'`.", "",
             "`law_evidence` fails where a promise has no test here, or names one that does not exist. What is measured stands in",
             "[benchmarks](../benchmarks/README.md). Executions of the fuzzers' targets stand in [SECURITY](../SECURITY.md)."]
    page_before = None
    for (page, words), entries in found.items():
        if page != page_before:
            lines += ["", f"## {page}"]
            page_before = page
        lines += ["", f"### {words}", "", "| test | what it shows | runs on |", "| --- | --- | --- |"]
        for kind, name, title in entries:
            shows, places = (title, runs(root, name)) if kind == "case" else ("the whole test", title or "host")
            lines.append(f"| `{name}` | {shows.replace('|', chr(92) + '|')} | {places} |")
    return "\n".join(lines) + "\n"


def check(root):
    wrong = problems(root)
    page = root / PAGE
    if not wrong and (not page.is_file() or page.read_text(encoding="utf-8") != page_text(root)):
        wrong.append(f"{PAGE}: is not what scripts/evidence writes; run it")
    return wrong
