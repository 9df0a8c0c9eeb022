"""Whether the command still has each subcommand and option that a release had: COMPATIBILITY.md promises that they only grow.

  check_released_words.py COMMAND LIST             fails with what is gone
  check_released_words.py COMMAND LIST --write     adds what is new, before a release

A line of the list is a subcommand ("params export") or one with an option ("params export --output").
"""
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "scripts"))
sys.dont_write_bytecode = True
import command_help  # noqa: E402


def words_of(command):
    found = set()
    for page in command_help.pages(command):
        found |= {" ".join([*page.words, name]) for option in page.options for name in option.names}
        if page.words:
            found.add(" ".join(page.words))
    return found


def main():
    command, path = sys.argv[1], pathlib.Path(sys.argv[2])
    released, now = set(path.read_text().splitlines()) if path.exists() else set(), words_of(command)
    if sys.argv[3:] == ["--write"]:
        path.write_text("".join(f"{line}\n" for line in sorted(released | now)))
        return 0
    gone = sorted(released - now)
    for line in gone:
        print(f"gone, though a release had it: intaglio {line}")
    print(f"{len(released)} released words of the command, {len(gone)} gone")
    return 1 if gone or len(released) < 100 else 0


if __name__ == "__main__":
    sys.exit(main())
