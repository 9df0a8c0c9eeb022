"""What scripts/demo found: demo_summary.py FOLDER FP32.itg INT8.itg [--json]"""
import json
import os
import struct
import sys
import zlib

folder, fp32_file, int8_file, *form = sys.argv[1:]
PICTURES, LABELS = "demo/test", "demo/test_labels.txt"
EDGE, INK = 2, " .:-=+*#%@"  # pixels cut off on each side; characters from dark to bright


def read(name):
    with open(os.path.join(folder, name + ".json"), encoding="utf-8") as file:
        return json.load(file)


def readings(name):
    """{picture: best class}; the picture's own name without its folder."""
    return {sample["name"]: sample["outputs"][0]["top"][0]["class"] for sample in read(name)["samples"]}


def brightness(path):
    """Rows of a PNG with 8-bit RGB pixels, as the demo's are: the sums of red, green and blue."""
    with open(path, "rb") as file:
        data = file.read()
    at, packed, width = 8, b"", 0
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at:at + 8])
        if kind == b"IHDR":
            width, _, bits, color = struct.unpack(">IIBB", data[at + 8:at + 18])
            assert (bits, color) == (8, 2), path
        packed += data[at + 8:at + 8 + size] if kind == b"IDAT" else b""
        at += size + 12
    raw, rows, above = zlib.decompress(packed), [], bytearray(3 * width)
    for start in range(0, len(raw), 3 * width + 1):
        row = bytearray(raw[start + 1:start + 1 + 3 * width])
        for i in range(len(row)):
            left, up, corner = (row[i - 3], above[i], above[i - 3]) if i >= 3 else (0, above[i], 0)
            nearest = min((left, up, corner), key=lambda v: abs(left + up - corner - v))  # Paeth; the first of equal ones
            row[i] = row[i] + (0, left, up, (left + up) // 2, nearest)[raw[start]] & 255
        rows.append([sum(row[x:x + 3]) for x in range(0, len(row), 3)])
        above = row
    return rows


def drawing(path):
    """A character for two pixels, one above the other."""
    rows = [row[EDGE:-EDGE] for row in brightness(path)[EDGE:-EDGE]]
    pairs = [[a + b for a, b in zip(*two)] for two in zip(rows[::2], rows[1::2])]
    order = sorted(v for row in pairs for v in row)
    low, high = order[len(order) // 50], order[-len(order) // 50]  # glints and dirt apart
    ink = lambda v: INK[min(max((v - low) * len(INK) // max(high - low, 1), 0), len(INK) - 1)]
    return ["".join(map(ink, row)) for row in pairs]


def show_pictures():
    """Two pictures that both read right, and one that int8 does not, where there is one."""
    with open(LABELS, encoding="utf-8") as file:
        labels = {name: int(label) for name, label in (line.split() for line in file)}
    fp32, int8 = readings("run_fp32"), readings("run_int8")
    right = [name for name in labels if fp32[name] == int8[name] == labels[name]]
    wrong = [name for name in labels if fp32[name] == labels[name] != int8[name]] or [
        name for name in labels if int8[name] != labels[name]]
    shown = [right[len(right) // 3], right[2 * len(right) // 3]] + wrong[:1]
    pictures = [drawing(os.path.join(PICTURES, name)) for name in shown]
    print()
    for lines in zip(*pictures):
        print("  ".join(lines))
    width = len(pictures[0][0])
    for text in ("{name}", "FP32 reads {fp32}, int8 {int8}", "it is a {label}"):
        print("  ".join(text.format(name=name, fp32=fp32[name], int8=int8[name], label=labels[name]).ljust(width)
                        for name in shown).rstrip())


eval_fp32, eval_int8 = read("eval_fp32"), read("eval_int8")
bench_fp32, bench_int8 = read("bench_fp32"), read("bench_int8")
inspect_fp32, inspect_int8 = read("inspect_fp32"), read("inspect_int8")
compare = read("compare")
model_bytes, fp32_bytes = os.path.getsize(int8_file), os.path.getsize(fp32_file)

if form:
    print(json.dumps({
        "fp32_top1": eval_fp32["top1"], "int8_top1": eval_int8["top1"], "agreement": compare["agreement"],
        "model_bytes": model_bytes, "arena_bytes": inspect_int8["arena_bytes"],
        "fp32_ms": bench_fp32["median_ms"], "int8_ms": bench_int8["median_ms"]}))
else:
    sqnr = "exact" if compare["sqnr_db"] is None else f"{compare['sqnr_db']:.1f} dB"
    threads = bench_int8["threads"]
    show_pictures()
    print(f"""
Meter digits, {eval_int8['count']} test pictures, calibrated with 16 others
                    FP32          int8
  top 1         {eval_fp32['top1']:8.2f} %    {eval_int8['top1']:8.2f} %    {compare['lost']} picture{'s' if compare['lost'] != 1 else ''} lost, {compare['won']} won: {'a' if compare['loss_is_real'] else 'no'} real loss
  latency       {bench_fp32['median_ms']:8.3f} ms   {bench_int8['median_ms']:8.3f} ms   median; {bench_int8['isa']} kernels, {threads} thread{'s' if threads != 1 else ''}
  model file    {fp32_bytes:8d} B    {model_bytes:8d} B
  activations   {inspect_fp32['arena_bytes']:8d} B    {inspect_int8['arena_bytes']:8d} B    memory while it runs
Both give the same digit for {100 * compare['agreement']:.2f} % of the pictures; SQNR of the output: {sqnr}.
The int8 model is {int8_file}""")
