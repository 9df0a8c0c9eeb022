"""Cycles of a straight line of instructions on a Cortex-M7, of which Arm publishes no timings: two instructions a cycle in order,
where what they read is there. One multiplication, one load or store and one floating-point instruction a cycle; loads and stores
of several words alone, two words a cycle. A sum that the next multiplication adds to is there a cycle earlier than for others.
With these rules eight of ST's programs are -2 to +5 % off the published cycles, weights through the cache apart."""
import collections
import re

from register_list import registers

LATENCY = {"load": 2, "multiply": 2, "floating point": 3}  # else 1
NAMES = {"sl": "r10", "fp": "r11", "ip": "r12"}
TESTS = re.compile(r"(cmp|cmn|tst|teq|vcmpe?)\b")
READ_ONE = re.compile(r"(mov(?!t)|mvn|neg|sxt(b16|b|h)|uxt(b16|b|h)|clz|rev|rbit|v(cvt|mov|neg|abs|sqrt)|adr|ldr|vldr)")
ALSO_READS_FIRST = re.compile(r"(bfi|bfc|movt|v(mla|mls|fma|fms|nmla|nmls)|[su]mlald?|umaal)")
TWO_RESULTS = re.compile(r"([su]mull|[su]mlald?x?|umaal)")
ADDS = re.compile(r"(mla|sml|smml)")  # the last operand is the sum
MULTIPLE = re.compile(r"(ldm|stm|push|pop|vldm|vstm|vpush|vpop|ldrd|strd)")


def expanded(text):
    """Registers of an operand, halves of doubles as the singles that they are."""
    found = []
    for first, last in re.findall(r"\b([rsd]\d+)(?:-[rsd](\d+))?\b|\b(?:sl|fp|ip|sp|lr|pc)\b", text):
        if not first:
            continue
        kind, number = first[0], int(first[1:])
        for i in range(number, (int(last) if last else number) + 1):
            found += [f"s{2 * i}", f"s{2 * i + 1}"] if kind == "d" else [f"{kind}{i}"]
    return found + [NAMES.get(name, name) for name in re.findall(r"\b(sl|fp|ip|sp|lr|pc)\b", text)]


class Issued:
    """What the rules need of an instruction."""

    def __init__(self, instruction, kind):
        m, text = instruction.mnemonic, instruction.operands
        operands = [one.strip() for one in re.findall(r"\{[^}]*\}|\[[^\]]*\]!?|[^,\[{]+", text) if one.strip()]
        self.multiple = MULTIPLE.match(m) is not None
        self.multiplies = kind == "multiply"
        self.loads = kind == "load" and not m.startswith("v")
        self.stores = kind == "store" and not m.startswith("v")
        self.floats = m.startswith("v")
        is_store = re.match(r"v?st|push|vpush", m) is not None
        if m.startswith(("push", "pop", "vpush", "vpop")):
            operands.insert(0, "sp!")
        lists = MULTIPLE.match(m) and not m.startswith(("ldrd", "strd"))
        if lists:
            results = [] if is_store else [operands[-1]]
        elif is_store or TESTS.match(m) or kind == "branch":
            results = []
        elif m.startswith("ldrd") or TWO_RESULTS.match(m):
            results = operands[:2]
        elif m.startswith("vmov") and len(operands) >= 3 and not operands[0].startswith("d"):
            results = operands[:2]
        else:
            results = operands[:1]
        self.writes = [name for one in results for name in expanded(one)]
        read = [one for one in operands if one not in results or operands.count(one) > 1]
        if results and (ALSO_READS_FIRST.match(m) or len(operands) == 2 and not READ_ONE.match(m) and kind not in ("load",)
                        and not lists):
            read += results
        self.reads = [name for one in read for name in expanded(one)]
        self.back = []
        if lists and operands[0].endswith("!"):
            self.back = expanded(operands[0])
        elif not lists and kind in ("load", "store", "several words"):
            address = next((i for i, one in enumerate(operands) if one.startswith("[")), None)
            if address is not None and (operands[address].endswith("!") or address + 1 < len(operands)):
                self.back = expanded(operands[address])[:1]
        if m == "bl":
            self.writes.append("lr")
        self.sum = expanded(operands[-1])[0] if self.multiplies and ADDS.match(m) and expanded(operands[-1]) else None
        words = re.search(r"\{(.*)\}", text)
        self.words = registers(words.group(1)) if words else 2


def issue_cycles(instructions, class_of):
    """Of instructions that follow one another, from the first one's issue to the last one's."""
    ready, sums = collections.defaultdict(int), {}
    cycle = slots = multiplications = moves = floats = 0
    for instruction in instructions:
        kind = class_of(instruction)
        if kind == "it":
            continue
        one = Issued(instruction, kind)
        at = max([cycle] + [sums.get(name, ready[name]) if name == one.sum else ready[name] for name in one.reads])
        if one.multiple:
            cycle = max(at, cycle + (1 if slots and at == cycle else 0)) + max(1, (one.words + 1) // 2)
            slots = multiplications = moves = floats = 0
            for name in one.writes:
                ready[name] = cycle + LATENCY["load"] - 1
                sums.pop(name, None)
            continue
        is_full = slots >= 2 or one.multiplies and multiplications or (one.loads or one.stores) and moves or one.floats and floats
        if at > cycle or is_full:
            cycle, slots, multiplications, moves, floats = max(at, cycle + 1 if is_full else at), 0, 0, 0, 0
        slots, multiplications, floats = slots + 1, multiplications + one.multiplies, floats + one.floats
        moves += one.loads or one.stores
        for name in one.writes:
            ready[name] = cycle + (3 if one.floats else LATENCY.get(kind, 1))
            sums.pop(name, None)
        for name in one.back:
            ready[name] = cycle + 1
        if one.sum is not None and one.sum in one.writes[:1]:
            sums[one.sum] = cycle + 1
    return cycle + 1
