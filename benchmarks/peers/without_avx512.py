"""Copies of peers that see no AVX-512, for a comparison on AVX2 alone.

onnxruntime and XNNPACK have no switch for it. Both ask the system by `xgetbv` which registers it saves, and use AVX-512 only
where its own are among them: in a copy of their libraries under the work folder that instruction becomes `mov al, 7; nop`
(x87, SSE and AVX registers). Nothing else changes; saturation.py then asks these copies whether their sums are exact.
"""
import importlib.util
import pathlib
import shutil
import subprocess
import sys

XGETBV, ANSWER = b"\x0f\x01\xd0", b"\xb0\x07\x90"


def text_sections(library):
    """(first address, offset in the file, bytes) of each section that holds code."""
    rows = subprocess.run(["objdump", "-h", "-w", library], check=True, capture_output=True, text=True).stdout.splitlines()
    found = [row.split() for row in rows if "CODE" in row]
    return [(int(row[3], 16), int(row[5], 16), int(row[2], 16)) for row in found]


def patch(library):
    """How many of its instructions were replaced."""
    content = bytearray(library.read_bytes())
    if XGETBV not in content:
        return 0
    lines = subprocess.run(["objdump", "-d", "-w", library], check=True, capture_output=True, text=True).stdout.splitlines()
    addresses = [int(line.split(":")[0], 16) for line in lines if "xgetbv" in line.split("<")[0] and ":" in line]
    for address in addresses:
        first, offset, _ = next(s for s in text_sections(library) if s[0] <= address < s[0] + s[2])
        at = offset + address - first
        if content[at:at + 3] != XGETBV:
            sys.exit(f"{library}: no xgetbv at {address:#x}")
        content[at:at + 3] = ANSWER
    library.write_bytes(content)
    return len(addresses)


def use(work, modules):
    """From here on `import` of these modules finds the copies. Exits where a peer did not ask: it would be no limit."""
    folder = work / "without_avx512"
    for module in modules:
        source = pathlib.Path(importlib.util.find_spec(module).origin).parent
        target = folder / module
        if target.exists() and not (target / "patched").exists():
            shutil.rmtree(target)
        if not target.exists():
            print(f"copying {module} into {target}, without AVX-512", file=sys.stderr)
            shutil.copytree(source, target)
            count = sum(patch(library) for library in target.rglob("*.so*") if not library.is_symlink())
            if count == 0:
                sys.exit(f"{module} does not ask for registers by xgetbv")
            (target / "patched").write_text(f"{count}\n")
    sys.path.insert(0, str(folder))
