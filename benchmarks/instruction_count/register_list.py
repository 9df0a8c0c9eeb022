"""Lists of registers as a disassembler writes them."""
import re


def registers(text):
    """How many stand in a list like r4, r5, lr or d8-d15."""
    count = 0
    for part in text.split(","):
        ends = re.findall(r"[rds](\d+)", part)
        count += int(ends[1]) - int(ends[0]) + 1 if len(ends) == 2 else 1
    return count
