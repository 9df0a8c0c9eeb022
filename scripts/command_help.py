"""Reads the help texts of the built command, for man pages and completion: see scripts/command_pages."""
import re
import subprocess

ENTRY = re.compile(r"^  (-\S+|\S+)(?: (\S.*?))?(?:\s{2,}(.*))?$")

GROUP = re.compile(r"^Options\b.*:$")  # a heading of options


class Option:
    def __init__(self, names, value, text):
        self.names, self.value, self.text = names, value, text  # ["-o", "--output"], "FILE" or "", the description


class Page:
    """One help text: of the command itself ([]), of a subcommand (["import"]), of one within it."""

    def __init__(self, words, text):
        self.words = words
        self.summary, self.usage = [], ""
        self.positionals, self.options, self.subcommands = [], [], []
        self.footer = []
        self.read(text.rstrip("\n").split("\n"))

    def read(self, lines):
        sections = {"Positionals:": self.positionals, "Subcommands:": self.subcommands}
        sections.update({line: self.options for line in lines if GROUP.match(line)})
        section, last = None, None
        for number, line in enumerate(lines):
            if self.usage == "":
                if line.startswith("Usage: "):
                    self.usage = line[len("Usage: "):]
                else:
                    self.summary.append(line)
                continue
            if line in sections:
                section, last = sections[line], None
            elif line == "" and section is not None:
                if number + 1 < len(lines) and lines[number + 1] not in sections:
                    self.footer = lines[number + 1:]
                    return
            elif section is not None and last is not None and line.startswith(" " * 20):
                last.text += " " + line.strip()
            elif section is not None:
                entry = ENTRY.match(line)
                if not entry:
                    raise SystemExit(f"command_pages: a line of the help is not understood: {line!r}")
                last = Option(entry.group(1).split(","), entry.group(2) or "", entry.group(3) or "")
                section.append(last)


def pages(command):
    """All help texts, the command's own first."""
    found = []

    def add(words):
        text = subprocess.run([command, *words, "--help"], check=True, capture_output=True, text=True).stdout
        page = Page(words, text)
        found.append(page)
        for subcommand in page.subcommands:
            add(words + subcommand.names)

    add([])
    return found


def version(command):
    return subprocess.run([command, "--version"], check=True, capture_output=True, text=True).stdout.split()[1].rstrip(",")
