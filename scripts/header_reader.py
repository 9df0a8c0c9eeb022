"""Reads a public header: its declarations, each with the comment that stands above it or behind it.

Made for headers as .clang-format lays them out, and not for C++ at large. Private members, bodies of functions, forward
declarations and macros that the header itself undefines are left out.

read(text) gives the header's own comment and a list of Declarations. Declarations that follow one another without a
blank line, of which only the first has a comment above it, share that comment: they are one Declaration, with several
`parts`.
"""
import dataclasses
import re

TOKEN = re.compile(r'(?P<comment>//[^\n]*|/\*.*?\*/)|(?P<directive>^[ \t]*#(?:[^\n]*\\\n)*[^\n]*)|(?P<string>"(?:\\.|[^"\\\n])*")'
                   r"|(?P<space>\s+)|(?P<code>\w+|::|.)", re.DOTALL | re.MULTILINE)
TYPE = re.compile(r"(?:template <.*> )?(?:typedef )?(?P<keyword>enum class|enum|struct|class|union)\b(?: \[\[\w+\]\])? ?(?P<name>\w*)")
LIST_ENTRY = re.compile(r'X\((\w+), (\d+),((?:\s*"(?:\\.|[^"\\])*")+)\)|/\* (.*?) \*/', re.DOTALL)


class Unreadable(Exception):
    pass


@dataclasses.dataclass
class Token:
    kind: str
    text: str
    line: int
    column: int
    alone: bool  # the first of its line

    @property
    def last_line(self):
        return self.line + self.text.count("\n")


@dataclasses.dataclass
class Part:
    """One declaration: what it is (function, type, enum, field, enumerator, constant, alias, macro, list), its text
    without comments and bodies, the names that it declares, and the comment behind it."""
    kind: str
    code: str
    names: list
    behind: str = ""
    members: list = dataclasses.field(default_factory=list)  # Declarations of a type, enumerators of an enum
    rows: list = dataclasses.field(default_factory=list)     # of a list: (enumerator, number, text), or (title,)


@dataclasses.dataclass
class Declaration:
    """Parts under one comment, or a title: "---- Models ----"."""
    comment: str
    parts: list
    title: str = ""
    scope: str = ""  # "isa::" within namespace isa
    line: int = 0

    @property
    def kind(self):
        return self.parts[0].kind


def tokens(text):
    found, line, line_start = [], 1, 0
    for match in TOKEN.finditer(text):
        kind, piece = match.lastgroup, match.group()
        if kind != "space":
            alone = not text[line_start:match.start()].strip()
            column = match.start() - line_start
            last = found[-1] if found else None
            if (kind == "comment" and alone and last and last.kind == "comment" and piece.startswith("//")
                    and last.text.startswith("//") and last.last_line + 1 == line and last.column == column):
                last.text += "\n" + piece  # one comment of several lines
            else:
                found.append(Token(kind, piece, line, column, alone))
        line += piece.count("\n")
        if "\n" in piece:
            line_start = match.start() + piece.rindex("\n") + 1
    return [t for t in found if t.kind != "comment" or "NOLINT" not in t.text]


def words(comment):
    """A comment's text, dedented: lines that are indented further are formulas."""
    if comment.startswith("//"):
        lines = [re.sub(r"^// ?", "", line.strip()) for line in comment.split("\n")]
    else:
        lines = [re.sub(r"^\s*\*(?: |$)", "", line) for line in comment[2:-2].strip().split("\n")]
    return "\n".join(line.rstrip() for line in lines if not line.startswith("clang-format o")).strip("\n")


def joined(pieces):
    """Source text of tokens in the lines that they stand in, from the first one's column on."""
    lines, line, left = [""], pieces[0].line, pieces[0].column
    for piece in pieces:
        while line < piece.line:
            lines.append("")
            line += 1
        lines[-1] = lines[-1].ljust(max(piece.column - left, 0)) + piece.text
        line = piece.last_line
    return "\n".join(part for part in lines if part.strip())


def flat(code):
    return re.sub(r"\s+", " ", code)


def top_level(code, separator=","):
    """Pieces of code between separators that stand in no bracket."""
    depth, pieces = 0, [""]
    for char in code:
        depth += (char in "([{<") - (char in ")]}>")
        if char == separator and depth == 0:
            pieces.append("")
        else:
            pieces[-1] += char
    return pieces


def declared(code):
    """The names of a field or constant."""
    pointer = re.search(r"\(\*\s*(\w+)\)", code)
    if pointer:
        return [pointer.group(1)]
    names = []
    for piece in top_level(re.sub(r"^template <[^>]*>", "", code)):
        name = re.search(r"(\w+)(?:<[^<>]*>|\[[^\]]*\]|\{.*\}| )*$", top_level(piece, "=")[0])
        if not name:
            raise Unreadable(code)
        names.append(name.group(1))
    return names


class Reader:
    def __init__(self, text):
        self.tokens, self.at = tokens(text), 0
        undefined = set(re.findall(r"^#undef (\w+)", text, re.MULTILINE))
        self.tokens = [t for t in self.tokens
                       if t.kind != "directive" or re.match(r"\s*#define (?!(?:%s)\b)" % "|".join(undefined or {"-"}), t.text)]

    def peek(self):
        return self.tokens[self.at] if self.at < len(self.tokens) else None

    def take(self):
        self.at += 1
        return self.tokens[self.at - 1]

    def block(self):
        """The tokens of a bracket that has just been opened, without the closing one."""
        depth, first = 1, self.at
        while depth:
            if self.peek() is None:
                raise Unreadable("a bracket that nothing closes")
            token = self.take()
            if token.kind == "code":
                depth += (token.text in "{(") - (token.text in "})")
        return self.tokens[first:self.at - 1]

    def behind(self):
        """The comment that stands behind what ended in the line of the last token."""
        token, last = self.peek(), self.tokens[self.at - 1]
        if token and token.kind == "comment" and not token.alone and token.line == last.last_line:
            return words(self.take().text)
        return ""

    def header(self):
        comment = ""
        if self.peek() and self.peek().kind == "comment":
            comment = words(self.take().text)
        return comment, self.scope("", "")

    def scope(self, prefix, keyword):
        found, public, above, group = [], keyword != "class", None, None
        while self.peek() is not None:
            token = self.peek()
            if token.kind == "code" and token.text == "}":
                break
            if token.kind == "comment":
                above, group = self.take(), None
                title = re.fullmatch(r"-+ (.*?)(?: -+)?", words(above.text))
                if title:
                    found.append(Declaration("", [], title.group(1), line=token.line))
                    above = None
                continue
            if above and above.last_line + 1 != token.line:
                above = None  # of nothing that follows
            if token.text in ("public", "private", "protected"):
                public = self.take().text == "public"
                self.take()
                above = group = None
                continue
            line, comment = token.line, words(above.text) if above else ""
            blank = self.at > 0 and self.tokens[self.at - 1].last_line + 1 < line
            result = self.declaration(prefix, keyword)
            above = None
            if isinstance(result, list):  # a namespace's
                found, group = found + result, None
            elif result is None or not public:
                group = None
            elif group and not blank and not comment and self.joins(group, result):
                group.parts.append(result)
            else:
                group = Declaration(comment, [result], scope=prefix, line=line)
                found.append(group)
        return found

    @staticmethod
    def joins(group, part):
        """Whether a declaration that follows a group in the next line shares its comment."""
        if {group.kind, part.kind} & {"type", "enum", "list"}:
            return False
        if {group.kind, part.kind} <= {"constant", "macro"}:
            return True
        return bool(group.comment) and not part.behind and not group.parts[-1].behind

    def declaration(self, prefix, keyword):
        if self.peek().kind == "directive":
            return self.macro(self.take())
        pieces, body = [], None
        while True:
            if self.peek() is None:
                raise Unreadable(joined(pieces))
            token = self.take()
            if token.kind == "comment":
                continue
            if token.kind == "code" and token.text == ";":
                break
            code = flat(joined(pieces)) if pieces else ""
            if token.kind == "code" and token.text == "{" and "(" not in code:
                if re.fullmatch(r'namespace \w+|extern "C"', code):
                    name = code.split(" ")[1]
                    inner = self.scope("" if name in ("intaglio", '"C"') else name + "::", "")
                    self.take()
                    return inner
                if TYPE.match(code) and "=" not in code:
                    return self.type(pieces, TYPE.match(code))
            if token.kind == "code" and token.text == "{":
                inside = self.block()
                if "(" in code and not re.search(r"=$|= *\w*$", code):  # the body of a function
                    if self.peek() and self.peek().text == ";":
                        self.take()
                    body = True
                    break
                pieces += [token, *inside, self.tokens[self.at - 1]]
                continue
            pieces.append(token)
            if token.kind == "code" and token.text == "(":
                inside = self.block()
                pieces += [t for t in inside if t.kind != "comment"] + [self.tokens[self.at - 1]]
        return self.plain(pieces, body, keyword)

    def plain(self, pieces, body, keyword):
        code = joined([t for t in pieces if t.kind != "comment"])
        behind = self.behind()
        line = flat(code)
        if re.match(r"(friend|static_assert)\b", line) or re.fullmatch(r"(struct|class|union) \w+", line):
            return None
        if re.match(r"(typedef|using)\b", line):
            name = re.match(r"using (\w+)", line) or re.search(r"(\w+)$", line)
            return Part("alias", code, [name.group(1)], behind)
        head = top_level(re.sub(r"operator\s*[=!<>+*\[\]-]+", "operator", re.sub(r"\[[^\]]*\]", "", line)), "=")[0]
        if body or re.search(r"\w *\((?!\*)", head) and not re.search(r"^[^(]*\(\*", head):
            if body:  # without what a constructor initializes
                code = re.sub(r"(?<=\))\s+: .*$", "", code, flags=re.DOTALL)
            code = re.sub(r"\[\[\w+\]\] |\binline ", "", code)
            name = re.match(r".*?(operator ?(?:\(\)|[^(]+)|~?\w+) *\(", re.sub(r"\b(template <[^>]*>|explicit) ", "", flat(code)))
            return Part("function", code + ";", [name.group(1)], behind)
        kind = "constant" if re.search(r"\bconstexpr\b|^extern const\b", line) else "field"
        if kind == "field" and keyword == "":
            raise Unreadable(line)
        return Part(kind, re.sub(r"\binline ", "", code), declared(line), behind)

    def type(self, pieces, match):
        keyword, name = match.group("keyword").split(" ")[0], match.group("name")
        head = re.sub(r" \[\[\w+\]\]", "", flat(joined(pieces)))
        if keyword == "enum":
            members = self.enumerators()
        else:
            members = self.scope("", keyword)
            self.take()
        while self.take().text != ";":
            pass
        kind = "enum" if keyword == "enum" else "type"
        names = [name] if name else [n for m in members for p in m.parts for n in p.names]
        return Part(kind, re.sub(r"^typedef ", "", head), names, self.behind(), members)

    def enumerators(self):
        found, pieces, above = [], [], ""

        def end(behind):
            nonlocal pieces, above
            if pieces:
                code = joined(pieces)
                name = re.match(r"\w+", code).group()
                kind = "list" if re.match(r"\w+\s*\(", code) else "enumerator"
                found.append(Declaration(above, [Part(kind, flat(code), [name], behind)]))
            pieces, above = [], ""

        while True:
            token = self.take()
            if token.kind == "comment":
                if token.alone:
                    end("")
                    above = words(token.text)
                else:
                    behind = words(token.text)
                    if pieces:
                        end(behind)
                    elif found:
                        found[-1].parts[0].behind = behind
            elif token.kind == "directive":
                continue
            elif token.text == "}":
                end("")
                return found
            elif token.text == ",":
                end("")
            elif pieces and pieces[-1].text == ")" and re.match(r"\w", token.text):  # behind a list macro there is no comma
                end("")
                pieces.append(token)
            else:
                pieces.append(token)
                if token.text == "(":
                    pieces += self.block() + [self.tokens[self.at - 1]]

    def macro(self, token):
        text = token.text.strip()
        name, arguments, body = re.match(r"#define (\w+)(\([^)]*\))?[ \t]*(.*)", text, re.DOTALL).groups()
        if arguments == "(X)":
            rows = []
            for entry in LIST_ENTRY.finditer(body.replace("\\\n", " ")):
                if entry.group(4):
                    rows.append((entry.group(4),))
                else:
                    rows.append((entry.group(1), entry.group(2), "".join(re.findall(r'"((?:\\.|[^"\\])*)"', entry.group(3)))))
            return Part("list", f"#define {name}(X)", [name], rows=rows)
        body, _, behind = body.partition("/*")
        code = f"#define {name}{arguments}" if arguments else f"#define {name} {body.strip()}".strip()
        return Part("macro", code, [name], behind.replace("*/", "").strip())


def read(text):
    return Reader(text).header()
