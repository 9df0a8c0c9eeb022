"""Instructions of AArch64 as in_order_model.py needs them, from objdump's texts."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ACCUMULATE = re.compile(r"([su]mlal2?|[su]mlsl2?|ml[as]|[su]dot|usdot|[su]mmla|usmmla|fml[as]|[su]adalp|[su]abal2?|sqrdml[as]h)$")
LONG = re.compile(r"([su]mull2?|[su]mlal2?|[su]mlsl2?|mul|ml[as]|[su]dot|usdot|[su]mmla|usmmla|[su]adalp|sqr?dmulh|sqrdml[as]h)$")
PARTLY = re.compile(r"(ins|sl[im]|sri|bsl|bit|bif|movk|bfi|bfxil|bfm|tbx|[su]r?sra|\w*xtu?n2|\w*shru?n2|f?[su]?q?xtn2|fcvtn2|fmov1)$")
LOGIC = re.compile(r"(and|orr|eor|bic|orn|bsl|bit|bif|mvn|not|movi|mvni)$")
SLOWER = re.compile(r"([su]q\w+|\w*addl?p|[su]addlv|\w*maxv|\w*minv|addv|[su]r\w+|[su]?abs|abs|[su]addl2?|[su]addw2?|[su]subl2?|[su]subw2?|[su]abd\w*)$")
FLOAT = re.compile(r"f(add|sub|mul|mla|mls|madd|msub|nmul|cvt\w*|rint\w|max\w*|min\w*|recp\w|rsqrt\w)$|[su]cvtf$|fnmadd$|fnmsub$")
REGISTER = re.compile(r"\b([xwvqdshb])(\d+)\b")
BRANCH = re.compile(r"(b|bl|br|blr|ret|b\.\w+|cbn?z|tbn?z)$")


class Instruction:
    """What the model needs of one: registers, kind, halves of the vector unit, cycles of the load or store pipe."""
    __slots__ = ("text", "name", "reads", "address", "writes", "kind", "halves", "first", "load", "store", "branch", "mul", "alone", "sum", "merge", "fmla", "vector_load")

    def __init__(self, text, core):
        self.text = text
        name, _, rest = text.partition(" ")
        rest = rest.split("//")[0].split("<")[0].strip()
        self.name = name
        operands = re.findall(r"\{[^}]*\}(?:\[\d+\])?|\[[^\]]*\]!?|[^,\s][^,]*", rest)
        registers = [self.registers_of(operand) for operand in operands]
        vectors = [operand for operand in operands if re.match(r"[{]?\s*[vqdshb]\d", operand)]
        memory = re.match(r"(ld|st)(r|p|ur|nt|1|2|3|4|ax|lx|lr|ar|xr|tr|xp|axr)", name) is not None and name not in ("st",)
        self.address, self.writes, self.sum, self.merge = (), (), None, None
        self.load = self.store = 0
        self.branch = BRANCH.match(name) is not None
        self.first = self.alone = self.mul = self.fmla = False
        self.halves = 0
        self.kind = "alu"
        self.vector_load = False
        if memory:
            self.of_memory(name, operands, registers, core)
        elif self.branch:
            self.reads = tuple(r for group in registers for r in group) + (("flags",) if name.startswith("b.") else ())
            if name in ("bl", "blr"):
                self.writes = ("x30",)
            if name == "ret":
                self.reads = ("x30",)
        elif name in ("cmp", "cmn", "tst", "ccmp", "ccmn", "fcmp", "fcmpe", "fccmp"):
            self.reads, self.writes = tuple(r for group in registers for r in group), ("flags",)
            if name.startswith("f"):
                self.kind, self.halves = "fcmp", 1
            if name.startswith("cc"):
                self.reads += ("flags",)
        elif name in ("nop", "prfm", "prfum", "hint", "dmb", "dsb", "isb", "svc", "yield", "udf", "bti", "paciasp", "autiasp"):
            self.reads = tuple(r for group in registers for r in group)
            self.load = 1 if name.startswith("prf") else 0
        else:
            self.writes = tuple(registers[0]) if registers else ()
            self.reads = tuple(r for group in registers[1:] for r in group)
            lane_target = bool(operands) and re.match(r"v\d+\.[bhsd]\[\d+\]", operands[0]) is not None
            if ACCUMULATE.match(name) or PARTLY.match(name) or lane_target:
                self.reads += self.writes
            if name in ("csel", "cset", "cinc", "csinc", "csinv", "csneg", "csetm", "cinv", "cneg", "adc", "adcs", "sbc", "sbcs", "ngc", "fcsel"):
                self.reads += ("flags",)
            if name in ("adds", "subs", "ands", "bics", "negs", "adcs", "sbcs"):
                self.writes += ("flags",)
            if vectors:
                self.of_vectors(name, operands, core)
            elif name in ("mul", "madd", "msub", "mneg", "smull", "umull", "smaddl", "umaddl", "smulh", "umulh"):
                self.kind, self.mul, self.alone = "mul", True, core["single_mul"]
            elif name in ("udiv", "sdiv"):
                self.kind, self.mul = "div", True

    @staticmethod
    def registers_of(operand):
        found = []
        span = re.match(r"\{\s*v(\d+)\.\w+\s*-\s*v(\d+)\.\w+\s*\}", operand)
        if span:
            first, last = int(span.group(1)), int(span.group(2))
            return [f"v{i % 32}" for i in range(first, (last if last >= first else last + 32) + 1)]
        for letter, number in REGISTER.findall(operand):
            found.append(("x" if letter in "xw" else "v") + number)
        if re.search(r"\bsp\b", operand):
            found.append("sp")
        return found

    def of_memory(self, name, operands, registers, core):
        data = [i for i, operand in enumerate(operands) if "[" not in operand or operand.startswith("{")]
        base = next((i for i, operand in enumerate(operands) if operand.startswith("[")), None)
        if base is None:  # a literal
            base, data = len(operands), data[:1]
        before = [i for i in data if i < base]
        moved = [r for i in before for r in registers[i]]
        self.address = tuple(registers[base]) if base < len(operands) else ()
        self.address += tuple(r for i in range(base + 1, len(operands)) for r in registers[i])
        text = operands[before[0]] if before else ""
        vector = re.match(r"\{?\s*[vqdshb]\d", text) is not None
        width = {"q": 16, "d": 8, "s": 4, "h": 2, "b": 1, "x": 8, "w": 4}.get(text.strip("{ ")[:1], 8)
        if text.startswith("{"):
            lane = text.endswith("]") or name.endswith("r") and name.startswith("ld")
            form = re.search(r"\.(\d*)([bhsd])", text)
            width = 8 if lane or not form.group(1) else int(form.group(1)) * {"b": 1, "h": 2, "s": 4, "d": 8}[form.group(2)]
            if lane:
                self.alone = True
        total = width * max(1, len(moved))
        writeback = base < len(operands) and (operands[base].endswith("!") or len(operands) > base + 1)
        back = tuple(registers[base][:1]) if writeback else ()
        if name.startswith("ld"):
            self.load = max(1, (total + 7) // 8)
            self.alone = self.alone or self.load > 1
            self.writes, self.reads = tuple(moved) + back, ()
            if text.startswith("{") and (text.endswith("]")):
                self.reads = tuple(moved)
            self.kind = "vload" if vector else "load"
            self.vector_load = vector
        else:
            self.store = max(1, (total + 15) // 16)
            self.alone = self.store > 1
            self.reads, self.writes = tuple(moved), back
            self.kind = "store"
        if vector and core["vector_moves_take_half"]:
            self.halves = 2 if self.store and width == 16 else 1

    def of_vectors(self, name, operands, core):
        forms = " ".join(operands)
        wide = re.search(r"\.(16b|8h|4s|2d|1q)\b", forms) is not None
        general = [re.match(r"[xw](\d+|zr)$", operand) is not None for operand in operands]
        if name in ("ins", "fmov", "mov", "dup") and any(general[1:]):
            self.kind, self.halves = "insert", 2 if name == "dup" and wide else 1
            self.merge = self.writes[0] if self.writes and self.writes[0] in self.reads else None
            if name != "dup" and not core["vector_moves_take_half"]:
                self.halves = 0
            self.first = name == "dup" and wide
            return
        if general and general[0]:
            self.kind, self.halves = ("extract" if not name.startswith("f") or name == "fmov" else "fp"), 1
            return
        self.halves = 2 if wide else 1
        self.first = wide
        if FLOAT.match(name):
            self.kind = "fp"
            self.fmla = name in ("fmla", "fmls", "fmadd", "fmsub", "fnmadd", "fnmsub")
            if self.fmla and self.writes and not name.endswith(("add", "sub")):
                self.sum = self.writes[0]
        elif name in ("fdiv", "fsqrt"):
            self.kind = "fdiv"
        elif LONG.match(name):
            self.kind = "vmul"
            self.sum = self.writes[0] if self.writes else None
        elif LOGIC.match(name):
            self.kind = "logic"
        elif SLOWER.match(name):
            self.kind = "valu3"
        else:
            self.kind = "valu"


def disassemble(codes):
    """The instructions of some bytes each, as texts."""
    tool = os.environ.get("DISASSEMBLER", "aarch64-linux-gnu-objdump")
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "code"
        path.write_bytes(b"".join(codes))
        done = subprocess.run([tool, "-D", "-b", "binary", "-m", "aarch64", "-w", "--no-show-raw-insn", str(path)], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{tool}: {done.stderr.strip()}")
    texts = {int(m.group(1), 16): " ".join(m.group(2).split()) for m in re.finditer(r"^\s*([0-9a-f]+):\t(.*)$", done.stdout, re.MULTILINE)}
    found, at = [], 0
    for code in codes:
        found.append([texts[i] for i in range(at, at + len(code), 4)])
        at += len(code)
    return found
