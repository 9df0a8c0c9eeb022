#!/usr/bin/env python3
"""Writes the fuzzers' dictionaries, a file each, from what the repository already says of the formats.

  make_dictionaries.py ROOT FOLDER TARGET...

Words: operators of docs/operators.md, the schema's identifier and kernels' names, keys in the readers of parameter files and of labels, IR tags
and layer types in the importer, marks of picture files and of .npy.
"""
import pathlib
import re
import sys

root, folder, targets = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3:]


def strings_of(pattern):
    """String constants of sources, which the readers compare with."""
    words = set()
    for path in sorted(root.glob(pattern)):
        for word in re.findall(r'"((?:[^"\\\n]|\\.)*)"', re.sub(r"(?m)^\s*#.*$|//.*$", "", path.read_text(encoding="utf-8"))):
            if re.fullmatch(r"[\w./:-]{2,40}", word):
                words.add(word.encode())
    return sorted(words)


def operators(heading):
    page = (root / "docs/operators.md").read_text(encoding="utf-8")
    section = re.search(rf"(?ms)^## {heading}.*?(?=^## |\Z)", page)[0]
    return sorted({name.encode() for name in re.findall(r"(?m)^\| (\w+)(?: \([\w.]+\))? \|", section)} - {b"operator"})


MODEL = [b"ITG1", b"\xff\xff\xff\xff", b"\x00\x00\x80\x3f", b"\x00\x00\xc0\x7f", b"\x00\x00\x80\x7f"]
PICTURES = [b"\x89PNG\r\n\x1a\n", b"IHDR", b"PLTE", b"tRNS", b"IDAT", b"IEND", b"BM", b"RIFF", b"WEBP", b"VP8 ", b"VP8L", b"VP8X",
            b"\xff\xd8\xff", b"\xff\xc0", b"\xff\xc2", b"\xff\xc4", b"\xff\xda", b"\xff\xdb", b"\xff\xdd", b"\xff\xe1",
            b"Exif\x00\x00", b"MM\x00*", b"II*\x00"]
NPY = [b"\x93NUMPY\x01\x00", b"\x93NUMPY\x02\x00", b"'descr': ", b"'fortran_order': ", b"'shape': ", b"'<f4'", b"'<f2'", b"'|u1'", b"'|i1'",
       b"'<i8'", b"True", b"False"]
STATE = [b"ITGS", b"ITGQ"]


def words_of(target):
    if target.startswith("params"):
        return strings_of("importers/params/*.cc")
    if target == "box_labels":
        return strings_of("tools/box_labels.cc")
    if target.startswith("model"):
        return MODEL + [name.encode() for name in sorted(set(re.findall(
            r'"(\w+_\w+)"', "".join(p.read_text(encoding="utf-8") for p in root.glob("kernels/**/*.inc")))))]
    if target.startswith("import_openvino"):
        return strings_of("importers/openvino/*.cc")
    if target.startswith(("import_onnx", "export_onnx")):
        return operators("ONNX") + strings_of("importers/onnx/onnx_attributes.cc")
    if target.startswith("import_tflite"):
        return [b"TFL3"] + operators("TFLite")
    return {"image_decode": PICTURES, "image_folder": PICTURES + NPY, "npy": NPY, "calibration_state": STATE, "rounds": STATE}.get(target, [])


for target in targets:
    words = words_of(target)
    if words:
        lines = ['"' + "".join(chr(b) if 32 <= b < 127 and b not in b'"\\' else f"\\x{b:02x}" for b in word) + '"\n' for word in words]
        (folder / f"{target}_fuzz.dict").write_text("".join(lines), encoding="ascii")
        print(f"{target}: {len(words)} words")
