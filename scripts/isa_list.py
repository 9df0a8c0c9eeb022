"""The instruction sets that have kernels, as kernels/include/intaglio/isa_list.inc lists them."""
import collections
import pathlib
import re

PATH = pathlib.Path(__file__).resolve().parent.parent / "kernels/include/intaglio/isa_list.inc"

# flags, gcc_flags: "" where the list gives none.
Isa = collections.namedtuple("Isa", "name family target flags gcc_flags given")


def read(path=PATH):
    text = re.sub(r"//[^\n]*", "", path.read_text(encoding="utf-8"))
    isas = []
    for entry in re.split(r"^ITG_(?:DIGEST_)?ISA", text, flags=re.MULTILINE)[1:]:
        name, family = re.match(r'\((\w+), \w+, \d+, "([^"]*)", "[^"]*",', entry).groups()
        field = lambda key: (re.findall(rf'\b{key}\("([^"]*)"\)', entry) or [""])[0]
        isas.append(Isa(name, family, field("target"), field("flags"), field("gcc_flags"), field("given")))
    return isas


def flags_in_words(flags):
    """The ways to give an entry's `flags`, in order. What needs none is not said."""
    return " or ".join(f"`{way.strip()}`" for way in flags.split("|") if way.strip())
