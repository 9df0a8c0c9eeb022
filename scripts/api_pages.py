"""The reference of the public headers, which cmake/ItgInstall.cmake installs: one page for each component, made for scripts/site.

A comment's text becomes text, and lines that are indented in it become a block of code. Names of the interface become
links. A function of the C interface is linked to the function of C++ that has its name.
"""
import pathlib
import re
import sys
import textwrap

import header_reader

FOLDER = "docs/api"
INDEX = "README.md"
TITLES = {"intaglio": "The runtime in C++", "calibrator": "The calibrator in C++", "c": "The library in C"}
PAGES = {"intaglio": "runtime.md", "calibrator": "calibrator.md", "c": "c.md"}
# In the order in which a reader needs them; others follow.
FIRST = ["session.h", "model.h", "op_codes.h", "node_options.h", "tensor.h", "span.h", "image_input.h", "frame.h", "status.h", "describe.h", "ops.h",
         "platform.h", "isa.h", "isa_list.inc", "planned_model.h", "model_store.h", "two_memories.h", "last_layer.h", "calibrator.h", "quant_config.h", "c_api.h"]
MADE = "Made from the comments of the public headers. To change a text, change the comment there."
INSTALL = re.compile(r"^itg_install\(\w+ (\w+) ([\w ]+)\)", re.MULTILINE)
WORD = re.compile(r"`[^`]*`|\b[A-Z]\w*_\w*(?:=\w+|_\.\.\.)|(?<![\w/.])(?:\w+(?:::|->|\.))*\w+(?:\(\w*(?:, \w+)*\))?(?![\w/])|docs/\w+\.md")
LIST_ENTRY = re.compile(r'^((?://[^\n]*\n)*)ITG_\w+\((\w+), (\w+), (\d+), "([\w-]*)"', re.MULTILINE)


def anchor(heading):
    """What GitHub makes of a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def snake(name):
    return re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", name).lower()


def escaped(text):
    return re.sub(r"([*<|\\]|\](?=\())", r"\\\1", text)


class Page:
    def __init__(self, name, title, language):
        self.name, self.title, self.language = name, title, language
        self.headers = []  # (name, comment, declarations)
        self.count = {}

    def anchor(self, heading):
        made = anchor(heading)
        number = self.count.get(made, 0)
        self.count[made] = number + 1
        return f"{made}-{number}" if number else made


def spelled(names):
    names = list(dict.fromkeys(names))
    return ", ".join(f"`{n}`" for n in names) if len(names) <= 3 else f"`{names[0]}` to `{names[-1]}`"


def heading_of(declaration, owner):
    part = declaration.parts[0]
    if part.kind in ("type", "enum"):
        word = re.search(r"\b(enum|struct|class|union)\b", part.code).group(1)
        return f"`{word} {declaration.scope}{part.names[0]}`" if re.search(r"\w$", part.code) and part.code != "enum" else spelled(part.names)
    prefix = f"{owner}::" if owner else declaration.scope
    return spelled(prefix + name for p in declaration.parts for name in p.names)


class Reference:
    """The pages of a tree: {path: text}, the declarations without a comment, and what the pages hold."""

    def __init__(self, root):
        self.places, self.listed, self.functions, self.missing, self.count = {}, {}, set(), [], 0
        self.pages = list(self.read(root))
        for page in self.pages:
            self.enter(page)
        self.texts = {f"{FOLDER}/{page.name}": self.page(page) for page in self.pages}
        self.texts[f"{FOLDER}/{INDEX}"] = self.index()

    def read(self, root):
        for component, folders in INSTALL.findall((root / "cmake/ItgInstall.cmake").read_text(encoding="utf-8")):
            headers = [path for folder in folders.split() for path in (root / folder / "include/intaglio").glob("*")]
            if not headers:
                continue
            page = Page(PAGES[component], TITLES[component], "c" if component == "c" else "cpp")
            for path in sorted(headers, key=lambda p: (FIRST.index(p.name) if p.name in FIRST else len(FIRST), p.name)):
                text = path.read_text(encoding="utf-8")
                try:
                    comment, declarations = self.list(text) if path.suffix == ".inc" else header_reader.read(text)
                except header_reader.Unreadable as error:
                    sys.exit(f"{path.relative_to(root)}: cannot read: {error}")
                page.headers.append((path, comment, declarations))
            yield page

    @staticmethod
    def list(text):
        """A list of ITG_...(name, constant, bit, "family", ...) entries, as of instruction sets."""
        parts = [header_reader.Part("entry", f"{constant} = 1u << {bit}", [constant], " ".join(
            piece for piece in (f"`{name}`" + (f", {family}." if family else "."), header_reader.words(above.strip()).replace("\n", " ")) if piece))
            for above, name, constant, bit, family in LIST_ENTRY.findall(text)]
        above = re.match(r"(?://[^\n]*\n)*", text).group()
        return header_reader.words(above.strip()), [header_reader.Declaration("", parts, scope="isa::")]

    def enter(self, page):
        """Gives each heading its anchor, and each name its place."""
        page.anchor(page.title)
        for path, _, declarations in page.headers:
            page.anchor(f"intaglio/{path.name}")
            for declaration in declarations:
                self.enter_declaration(page, declaration, "")

    def enter_declaration(self, page, declaration, owner):
        if declaration.title:
            page.anchor(declaration.title)
            return
        place = f"{page.name}#{page.anchor(heading_of(declaration, owner))}"
        prefix = f"{owner}::" if owner else declaration.scope
        for part in declaration.parts:
            for name in part.names:
                self.places.setdefault(prefix + name, place)
                self.listed.setdefault((page.name, prefix + name), place)
                if part.kind == "function":
                    self.functions.add(prefix + name)
            for row in part.rows:
                if len(row) > 1:
                    self.places.setdefault(row[0], place)
                    self.places.setdefault("ITG_" + row[0], place)
            for member in part.members:
                if self.is_default(member):
                    continue
                if self.has_heading(member):
                    self.enter_declaration(page, member, part.names[0])
                else:
                    for name in (n for p in member.parts for n in p.names if p.kind != "list"):
                        self.places.setdefault(name if page.language == "c" and part.kind == "enum" else f"{part.names[0]}::{name}", place)

    @staticmethod
    def has_heading(member):
        return member.kind in ("function", "type", "enum")

    @staticmethod
    def is_default(declaration):
        return declaration.kind == "function" and "= default" in declaration.parts[0].code

    def is_meant(self, name, code):
        """`bytes` is an argument where bytes() is a function."""
        return name not in self.functions or re.search(r"_|::|\)$", code)

    # Text

    def words(self, text, page, owner):
        def link(match):
            word = match.group()
            code = word.strip("`")
            if word.startswith("docs/"):
                return f"[{word}](../{word[5:]})"
            name = re.sub(r"\(.*\)$", "", code)
            plain = re.match(r"[A-Za-z_]", name) and re.search(r"_|::|->|\)$|^k[A-Z]|^[a-z]\w+\.\w", code)
            place = next((self.places[n] for n in (f"{owner}::{name}", name) if n in self.places and self.is_meant(n, code)), None)
            if word[0] != "`" and not (plain or place and re.match(r"[A-Z][a-z0-9]+[A-Z]", name)):
                return escaped(word)
            return self.linked(code, place, page)

        pieces, last = [], 0
        for match in WORD.finditer(text):
            pieces += [escaped(text[last:match.start()]), link(match)]
            last = match.end()
        return "".join(pieces) + escaped(text[last:])

    @staticmethod
    def linked(code, place, page):
        if place is None:
            return f"`{code}`"
        return f"[`{code}`]({place.removeprefix(page.name) if page else place})"

    def paragraphs(self, text, page, owner=""):
        """A comment as Markdown: sentences begin with a capital and end with a full stop, indented lines are code."""
        found, blocks = [], []
        for line in text.split("\n"):
            kind = "code" if line.startswith("  ") else "text" if line else "gap"
            if kind == "gap" and blocks and blocks[-1][0] == "code":
                blocks[-1][1].append("")
            elif blocks and blocks[-1][0] == kind:
                blocks[-1][1].append(line)
            else:
                blocks.append((kind, [line]))
        for kind, lines in blocks:
            if kind == "code":
                found += ["```", *"\n".join(line[2:] for line in lines).strip("\n").split("\n"), "```", ""]
            elif kind == "text":
                text = " ".join(lines)
                text = text[0].upper() + text[1:] if re.match(r"[a-z]+[ ,]", text) else text
                found += [re.sub(r"^([-+#]|\d+[.)])(?= )", r"\\\1", self.words(text + ("" if text[-1] in ".:?!" else "."), page, owner)), ""]
        return found

    # Pages

    def page(self, page):
        lines = [f"# {page.title}", "", MADE, ""]
        for path, comment, _ in page.headers:
            lines.append(f"- [`intaglio/{path.name}`](#{anchor('intaglio/' + path.name)}): {self.words(self.first_sentence(comment), page, '')}")
        for path, comment, declarations in page.headers:
            lines += ["", f"## `intaglio/{path.name}`", "", *self.paragraphs(comment, page)]
            level = 3
            for declaration in declarations:
                if declaration.title:
                    lines += [f"### {declaration.title}", ""]
                    level = 4
                else:
                    lines += self.entry(page, path, declaration, "", level)
            lines.pop()
        return "\n".join(lines).rstrip("\n") + "\n"

    @staticmethod
    def first_sentence(comment):
        text = " ".join(comment.split("\n\n")[0].split("\n"))
        return re.match(r".*?(?:\.(?= |$)|$)", text).group()

    def entry(self, page, path, declaration, owner, level):
        self.count += 1
        lines = [f"{'#' * level} {heading_of(declaration, owner)}", ""]
        first = declaration.parts[0]
        same = self.same_in_cpp(page, first)
        if not (declaration.comment or any(p.behind for p in declaration.parts) or same) and first.kind in ("function", "type", "enum") \
                and first.code != "enum":
            self.missing.append(f"{path.name}:{declaration.line}: {spelled(first.names)} has no comment")
        if first.kind in ("function", "alias"):
            code = "\n".join(part.code + (";" if part.kind == "alias" else "") for part in declaration.parts)
            lines += [f"```{page.language}", *code.split("\n"), "```", ""]
        comment = self.paragraphs(declaration.comment, page, owner or first.names[0])
        if first.kind in ("function", "alias"):
            lines += comment
            behind = [(part, part.behind) for part in declaration.parts if part.behind]
            if len(declaration.parts) == 1:
                lines += [line for _, text in behind for line in self.paragraphs(text, page, owner)]
            else:
                lines += [f"- `{part.names[0]}`: {self.words(text.replace(chr(10), ' '), page, owner)}" for part, text in behind] + [""] * bool(behind)
        elif first.kind == "list":
            lines += comment + self.rows(first)
        elif first.kind == "enum":
            lines += comment + self.paragraphs(first.behind, page) * bool(first.behind) + self.enumerators(page, first)
        elif first.kind == "type":
            lines += comment + self.paragraphs(first.behind, page) * bool(first.behind) + self.members(page, path, first, level)
        else:
            lines += comment + [self.bullet(page, part, owner) for part in declaration.parts] + [""]
        if same:
            lines += [f"In C++: {self.linked(same, self.places[same], page)}.", ""]
        return lines

    def bullet(self, page, part, owner):
        code = header_reader.flat(part.code)
        code = code.split(" = { ")[0]  # without what a table holds
        behind = self.words(part.behind.replace("\n", " "), page, owner)
        return f"- `{code}`" + (f": {behind}" if behind else "")

    def members(self, page, path, part, level):
        lines, inner = [], []
        for member in part.members:
            if self.is_default(member):
                continue
            if self.has_heading(member):
                inner += self.entry(page, path, member, part.names[0], level + 1)
                continue
            if member.kind == "alias":
                member.parts[0].code += ";"
            above = self.words(" ".join(member.comment.split()), page, part.names[0])
            codes = [self.bullet(page, p, part.names[0]) for p in member.parts]
            if above and len(codes) == 1:
                lines.append(codes[0] + ("; " if member.parts[0].behind else ": ") + above)
            else:
                lines += [f"- {above}"] * bool(above) + [("  " if above else "") + code for code in codes]
        return lines + [""] * bool(lines) + inner

    def enumerators(self, page, part):
        lines, plain = [], all(not (m.comment or m.parts[0].behind) for m in part.members)
        for member in part.members:
            entry = member.parts[0]
            if entry.kind == "list":
                text = f"{self.linked(entry.names[0], self.places.get(entry.names[0]), page)}: one enumerator for each entry"
            else:
                behind = " ".join(f"{entry.behind} {member.comment}".split())
                text = f"`{entry.code}`" + (f": {self.words(behind, page, part.names[0])}" if behind else "")
            lines.append(text)
        if plain and len(lines) > 4:
            return [f"```{page.language}", *(line.replace("\0", " ") for line in textwrap.wrap(", ".join(lines).replace("`", "").replace(" = ", "\0=\0"), 100)), "```", ""]
        return [", ".join(lines) + "." if plain else "\n".join(f"- {line}" for line in lines), ""]

    def rows(self, part):
        lines = []
        for row in part.rows:
            if len(row) == 1:
                lines += [""] * bool(lines) + [f"{row[0][0].upper()}{row[0][1:]}:", "", "| status | number | text |", "| --- | ---: | --- |"]
            else:
                if not lines:
                    lines += ["| status | number | text |", "| --- | ---: | --- |"]
                lines.append(f"| `{row[0]}` | {row[1]} | {escaped(row[2])} |")
        return lines + [""]

    def same_in_cpp(self, page, part):
        if page.language != "c" or part.kind == "alias" or not part.names[0].startswith("itg_"):
            return None
        if not hasattr(self, "by_snake"):
            self.by_snake = {("::".join(snake(piece) for piece in name.split("::")).replace("::", "_"), name in self.functions): name
                             for (where, name) in reversed(self.listed) if where != page.name}
        return self.by_snake.get((part.names[0].removeprefix("itg_"), part.kind == "function"))

    @staticmethod
    def sorted_as(name):
        return re.sub(r"^(itg_|ITG_|k(?=[A-Z])|[a-z]+::k)", "", name).lower()

    def index(self):
        lines = ["# API reference", "", MADE, "", "| header | page | |", "| --- | --- | --- |"]
        for page in self.pages:
            for path, comment, _ in page.headers:
                lines.append(f"| [`intaglio/{path.name}`]({page.name}#{anchor('intaglio/' + path.name)}) | {page.title} | "
                             f"{self.words(self.first_sentence(comment), None, '')} |")
        for page in self.pages:
            lines += ["", f"## Names: {page.title}", "", "| | |", "| --- | --- |"]
            rows = {}
            for name, place in sorted(((name, place) for (where, name), place in self.listed.items() if where == page.name),
                                      key=lambda item: self.sorted_as(item[0])):
                rows.setdefault(self.sorted_as(name)[0], []).append(f"[`{name}`]({place})")
            lines += [f"| {letter} | {', '.join(names)} |" for letter, names in rows.items()]
        return "\n".join(lines) + "\n"
