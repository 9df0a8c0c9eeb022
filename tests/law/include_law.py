#!/usr/bin/env python3
"""DESIGN sections 2 and 3 as a test: who may include whom, and in which order the folders of a part stand.

  include_law.py ROOT          checks every source of the tree
  include_law.py --self-test   checks that planted violations are found, each of them and nothing else
"""
import fnmatch
import pathlib
import re
import sys
import tempfile

# C++ headers that need no operating system, no heap and no libm. Names that end in .h are the compiler's and
# the system's; each rule says which of those it takes.
FREESTANDING = ["cfloat", "climits", "cstddef", "cstdint", "cstring", "initializer_list", "limits", "new",
                "type_traits", "utility"]
INTRINSICS = ["*intrin.h", "arm_neon.h", "arm_mve.h", "arm_acle.h"]
CALIBRATOR_KERNELS = ["kernels/observe/patch_sums.h", "kernels/observe/observe_f32.h", "kernels/digest/sha256.h",
                      "kernels/arithmetic/blocked_sum.h"]
PRIVATE_RUNTIME = ["runtime/codes_memory.h", "runtime/op.h", "runtime/op_search.h", "runtime/window.h", "runtime/crc32.h",
                   "runtime/liveness.h", "runtime/streaming/row_access.h", "runtime/streaming/streamed_model.h",
                   "runtime/option_fields.h", "runtime/quantization_range.h", "runtime/real_functions.h"]
BELOW_IMPORTERS = ["intaglio/*", "calibrator/*", "schema/*"] + PRIVATE_RUNTIME
PRIVATE_CALIBRATOR = ["calibrator/calibration.h"]
ANY = ["*"]


class Rule:
    """Files that match `files`, first rule first; what they may include in quotes ({folder} is the file's own) and in
    angle brackets."""

    def __init__(self, files, quoted, angled, never=()):
        self.files, self.quoted, self.angled, self.never = files, quoted, angled, never

    def allows(self, file, kind, name):
        folder = file.rpartition("/")[0]
        matches = lambda patterns: any(fnmatch.fnmatchcase(name, p.format(folder=folder)) for p in patterns)
        return matches(self.quoted if kind == '"' else self.angled) and not matches(self.never)


RULES = [
    Rule(["kernels/compiled_isa.h", "kernels/include/*"], ["intaglio/isa.h", "intaglio/isa_list.inc"], ["cstdint"]),
    # A family of kernels includes no other one.
    Rule(["kernels/*"], ["{folder}/*", "kernels/arithmetic/*", "kernels/compiled_isa.h", "intaglio/isa.h"],
         ["cstdint", "cstddef", "cstring"] + INTRINSICS),
    Rule(["platforms/*"], ["platforms/*", "intaglio/isa.h", "intaglio/platform.h"], FREESTANDING + ["*.h"],
         never=["flatbuffers/*"]),
    Rule(["runtime/include/*"], ["intaglio/*"], FREESTANDING, never=["intaglio/calibrator.h"]),
    Rule(["runtime/ops/*"],
         ["runtime/*", "kernels/*", "platforms/parallel.h", "intaglio/isa.h", "intaglio/span.h", "intaglio/status.h",
          "intaglio/tensor.h"], FREESTANDING,
         never=["runtime/model_check.h", "runtime/liveness.h", "runtime/crc32.h", "runtime/op_search.h"]),
    Rule(["runtime/model.cc", "runtime/model_check.cc", "runtime/model_check.h", "runtime/streaming/streamed_tables.cc"],
         ["intaglio/*", "runtime/*", "schema/*", "kernels/compiled_isa.h"], FREESTANDING + ["flatbuffers/*"], never=["intaglio/calibrator.h"]),
    Rule(["runtime/*"], ["intaglio/*", "runtime/*", "kernels/*", "platforms/*"], FREESTANDING,
         never=["intaglio/calibrator.h"]),
    Rule(["calibrator/include/*"], ["intaglio/*"], FREESTANDING),
    Rule(["calibrator/host/*"], ["intaglio/*", "calibrator/*", "schema/*"] + PRIVATE_RUNTIME, ANY),
    # In front of FlatBuffers' own headers, of which it takes two's place.
    Rule(["calibrator/bake/heapless_flatbuffers.h"], ["schema/*"], FREESTANDING + ["flatbuffers/*", "set"]),
    # The values that steps of a calibration hand on know none of these steps.
    Rule(["calibrator/recover/recovery.*"], ["intaglio/*", "calibrator/ranges/*", "calibrator/judge/*", "calibrator/recover/recovery.h"], FREESTANDING),
    Rule(["calibrator/recover/*"], ["intaglio/*", "calibrator/*", "schema/*", "kernels/gemm/gemm_f32.h"] + CALIBRATOR_KERNELS + PRIVATE_RUNTIME,
         FREESTANDING + ["flatbuffers/*"], never=["calibrator/host/*"]),
    Rule(["calibrator/*"], ["intaglio/*", "calibrator/*", "schema/*"] + CALIBRATOR_KERNELS + PRIVATE_RUNTIME,
         FREESTANDING + ["flatbuffers/*"], never=["calibrator/host/*"]),
    Rule(["c_api/include/*"], ["intaglio/c_*.h", "intaglio/status.h", "intaglio/version.h"], ["stdbool.h", "stddef.h", "stdint.h"]),
    Rule(["c_api/*"], ["intaglio/*", "c_api/*", "calibrator/ranges/range_methods.inc"], FREESTANDING),
    # Each of these folders knows the draft and itself; the interface above them knows all. The draft adds up as the runtime does.
    Rule(["importers/draft/*"], ["importers/draft/*", "kernels/arithmetic/blocked_sum.h"] + BELOW_IMPORTERS, ANY, never=PRIVATE_CALIBRATOR),
    *[Rule([f"importers/{folder}/*"], [f"importers/{known}/*" for known in {folder, "draft"}] + BELOW_IMPORTERS, ANY, never=PRIVATE_CALIBRATOR)
      for folder in ("onnx", "tflite", "passes")],
    # Layers of an IR become ONNX nodes.
    Rule(["importers/openvino/*"], ["importers/openvino/*", "importers/draft/*", "importers/onnx/onnx_reader.h", "importers/onnx/onnx_attributes.h", "importers/onnx/onnx_file.h"] + BELOW_IMPORTERS, ANY, never=PRIVATE_CALIBRATOR),
    Rule(["importers/params/*"], ["importers/params/*"] + BELOW_IMPORTERS, ANY, never=PRIVATE_CALIBRATOR),
    Rule(["importers/*"], ["importers/*"] + BELOW_IMPORTERS, ANY, never=PRIVATE_CALIBRATOR),
    Rule(["exporters/*"], ["{folder}/*", "exporters/readback.h", "exporters/table_function.h", "importers/import.h", "importers/wide_weights.h", "importers/draft/import_error.h", "importers/draft/names.h",
                           "importers/onnx/onnx_operators.h", "importers/onnx/onnx_reader.h", "importers/onnx/onnx_file.h",
                           "importers/params/params_layers.h",
                           "importers/tflite/tflite_generated.h"] + BELOW_IMPORTERS, ANY, never=PRIVATE_CALIBRATOR),
    Rule(["tools/pair_safety.cc"], ["intaglio/*", "tools/*", "kernels/gemm/gemm_s8_pairs.h", "runtime/ops/conv_geometry.h"], ANY),
    Rule(["tools/node_work.cc"], ["intaglio/*", "tools/*", "kernels/gemm/gemm_s8.h", "kernels/dwconv/dwconv_map_s8.h", "runtime/op_search.h", "runtime/ops/conv_2d.h", "runtime/ops/conv_gemm.h"], ANY),
    Rule(["tools/*"], ["intaglio/*", "calibrator/*", "importers/*", "exporters/*", "tools/*", "runtime/op_list.inc"] + PRIVATE_RUNTIME, ANY, never=PRIVATE_CALIBRATOR),
    Rule(["cli/*"], ["intaglio/*", "calibrator/*", "importers/*", "tools/*", "cli/*"], ANY, never=PRIVATE_CALIBRATOR),
    Rule(["python/bindings/*"], ["intaglio/*", "calibrator/host/*", "importers/*.h", "tools/*", "cli/*", "python/bindings/*"], ANY),
    Rule(["tests/*", "benchmarks/*", "examples/*"], ANY, ANY),
]
# The folders of a part, lowest first: a file includes those of its own folder and of the folders before it. A folder
# that is not listed is a violation.
ORDERS = {
    "calibrator": ["calibrator/include/intaglio", "calibrator/workspace", "calibrator/quantization",
                   "calibrator/observe", "calibrator/state", "calibrator/ranges", "calibrator/bake",
                   "calibrator/judge", "calibrator/recover/channels", "calibrator/recover/weights", "calibrator/recover",
                   "calibrator", "calibrator/host/system",
                   "calibrator/host/pictures", "calibrator/host/accuracy", "calibrator/host"],
}
# Written by another program into the build tree.
GENERATED = ["schema/*_generated.h", "firmware_model.h", "board_model.h", "camera_network.h", "calibration_data.h", "cnn_model.h", "net_model.h", "object_api/*_generated.h", "reflection/*_generated.h", "importers/tflite/*_generated.h"]
SUFFIXES = {".h", ".cc", ".c", ".inc"}
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(["<])([^">\n]+)[">]', re.MULTILINE)


def sources(root):
    for folder in sorted({pattern.split("/")[0] for rule in RULES for pattern in rule.files}):
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in SUFFIXES:
                yield path.relative_to(root).as_posix(), path


def exists(root, name):
    """Quoted names start at the root; public headers stand in an include folder each."""
    if any(fnmatch.fnmatchcase(name, p) for p in GENERATED):
        return True
    places = [root / name] + [root / f / "include" / name for f in ("kernels", "platforms", "runtime", "calibrator", "c_api")]
    return any(place.is_file() for place in places)


def against_order(name, included):
    """What is wrong with the place of `name`, or of what it includes; None where nothing is."""
    order = ORDERS.get(name.split("/")[0])
    if order is None:
        return None
    folder, other = name.rpartition("/")[0], included.rpartition("/")[0]
    if folder not in order:
        return f"stands in {folder}, which is no folder of ORDERS"
    if other in order and order.index(other) > order.index(folder):
        return f'may not include "{included}": {other} stands above {folder}'
    return None


def without_page(root):
    """Folders of ORDERS that have no README.md, nor stand in a folder of the same order that has one."""
    def has_page(folder):
        part, parent = folder.split("/")[0], folder.rpartition("/")[0]
        return (root / folder / "README.md").is_file() or (parent != part and parent in ORDERS[part] and has_page(parent))

    return [folder for order in ORDERS.values() for folder in order
            if not folder.endswith("include/intaglio") and (root / folder).is_dir() and not has_page(folder)]


def violations(root):
    """[(file, line, text)], and how many includes were looked at."""
    found, count = [], 0
    for name, path in sources(root):
        rule = next(r for r in RULES if any(fnmatch.fnmatchcase(name, p) for p in r.files))
        text = path.read_text(encoding="utf-8")
        for match in INCLUDE.finditer(text):
            count += 1
            kind, included = match.groups()
            line = text.count("\n", 0, match.start(1)) + 1
            shown = f'"{included}"' if kind == '"' else f"<{included}>"
            if not rule.allows(name, kind, included):
                found.append((name, line, f"may not include {shown}"))
            elif kind == '"' and (wrong := against_order(name, included)):
                found.append((name, line, wrong))
            elif kind == '"' and not exists(root, included):
                found.append((name, line, f"includes {shown}, which is no file of the tree, named from its root"))
    return found, count


# (file, include, whether it must be refused)
PLANTED = [
    ("kernels/gemm/gemm.cc", '"kernels/arithmetic/requant.h"', False),
    ("kernels/gemm/gemm.cc", '"kernels/gemm/gemm.h"', False),
    ("kernels/gemm/gemm.cc", '"kernels/pool/pool.h"', True),
    ("kernels/gemm/gemm.cc", "<immintrin.h>", False),
    ("kernels/gemm/gemm.cc", '"platforms/parallel.h"', True),
    ("kernels/gemm/gemm.cc", '"intaglio/tensor.h"', True),
    ("kernels/gemm/gemm.cc", "<algorithm>", True),
    ("kernels/gemm/gemm.cc", "<cmath>", True),
    ("kernels/arithmetic/requant.h", '"kernels/arithmetic/fma.h"', False),
    ("kernels/arithmetic/requant.h", '"kernels/gemm/gemm.h"', True),
    ("platforms/parallel.cc", "<cpuid.h>", False),
    ("platforms/parallel.cc", "<thread>", True),
    ("platforms/parallel.cc", '"intaglio/session.h"', True),
    ("platforms/parallel.cc", '"kernels/arithmetic/requant.h"', True),
    ("runtime/include/intaglio/session.h", '"intaglio/tensor.h"', False),
    ("runtime/include/intaglio/session.h", '"runtime/op.h"', True),
    ("runtime/include/intaglio/session.h", '"schema/model_generated.h"', True),
    ("runtime/include/intaglio/session.h", "<vector>", True),
    ("runtime/include/intaglio/session.h", '"intaglio/calibrator.h"', True),
    ("runtime/model.cc", '"schema/model_generated.h"', False),
    ("runtime/model.cc", "<memory>", True),
    ("runtime/session.cc", '"platforms/parallel.h"', False),
    ("runtime/session.cc", '"schema/model_generated.h"', True),
    ("runtime/session.cc", '"calibrator/bake/graph.h"', True),
    ("runtime/session.cc", "<string>", True),
    ("runtime/ops/add.cc", '"runtime/op.h"', False),
    ("runtime/ops/add.cc", '"intaglio/session.h"', True),
    ("runtime/ops/add.cc", '"intaglio/model.h"', True),
    ("runtime/ops/add.cc", '"runtime/model_check.h"', True),
    ("runtime/ops/add.cc", '"schema/model_generated.h"', True),
    ("runtime/ops/add.cc", "<functional>", True),
    ("calibrator/bake/bake.cc", '"schema/model_generated.h"', False),
    ("calibrator/bake/bake.cc", '"runtime/op.h"', False),
    ("calibrator/bake/bake.cc", '"runtime/model_check.h"', True),
    ("calibrator/bake/bake.cc", '"kernels/arithmetic/requant.h"', True),
    ("calibrator/bake/bake.cc", '"calibrator/host/system/files.h"', True),
    ("calibrator/bake/bake.cc", "<map>", True),
    ("calibrator/bake/bake.cc", "<mutex>", True),
    ("calibrator/bake/bake.cc", "<iostream>", True),
    ("calibrator/host/system/files.cc", "<vector>", False),
    ("calibrator/host/system/files.cc", '"importers/import.h"', True),
    ("calibrator/bake/bake.cc", '"calibrator/workspace/arena.h"', False),
    ("calibrator/bake/bake.cc", '"calibrator/recover/recovery.h"', True),
    ("calibrator/workspace/arena.h", '"calibrator/bake/graph.h"', True),
    ("calibrator/finish.cc", '"calibrator/recover/recovery.h"', False),
    ("calibrator/recover/recovery.h", '"calibrator/calibration.h"', True),
    ("calibrator/recover/recovery.cc", '"calibrator/judge/judge.h"', False),
    ("calibrator/recover/recovery.cc", '"calibrator/recover/bias_correction.h"', True),
    ("calibrator/elsewhere/stage.cc", '"calibrator/workspace/arena.h"', True),
    ("c_api/c_session.cc", '"intaglio/session.h"', False),
    ("c_api/c_session.cc", '"runtime/op.h"', True),
    ("c_api/include/intaglio/c_api.h", '"intaglio/session.h"', True),
    ("c_api/include/intaglio/c_api.h", "<stdint.h>", False),
    ("importers/import.cc", '"calibrator/bake/graph.h"', False),
    ("importers/import.cc", '"importers/onnx/onnx_op.h"', False),
    ("importers/import.cc", '"cli/command.h"', True),
    ("tools/samples.cc", '"cli/command.h"', True),
    ("tools/samples.cc", '"calibrator/calibration.h"', True),
    ("importers/onnx/onnx_conv.cc", '"calibrator/bake/graph.h"', False),
    ("importers/onnx/onnx_conv.cc", '"importers/draft/draft.h"', False),
    ("importers/onnx/onnx_conv.cc", '"importers/onnx/onnx_op.h"', False),
    ("importers/onnx/onnx_conv.cc", '"importers/import.h"', True),
    ("importers/onnx/onnx_conv.cc", '"importers/tflite/tflite_op.h"', True),
    ("importers/onnx/onnx_conv.cc", '"importers/passes/passes.h"', True),
    ("importers/passes/fold_windows.cc", '"importers/draft/draft.h"', False),
    ("importers/passes/fold_windows.cc", '"importers/onnx/onnx_op.h"', True),
    ("importers/draft/draft.cc", '"importers/draft/draft.h"', False),
    ("importers/draft/draft.cc", '"importers/passes/passes.h"', True),
    ("importers/params/params_ppq.cc", '"importers/params/params_table.h"', False),
    ("importers/params/params_ppq.cc", '"importers/draft/draft.h"', True),
    ("cli/command.cc", '"importers/import.h"', False),
    ("cli/command.cc", '"kernels/arithmetic/requant.h"', True),
    ("cli/command.cc", '"importers/absent.h"', True),
    ("tests/any_test.cc", '"kernels/arithmetic/requant.h"', False),
    ("tests/any_test.cc", '"requant.h"', True),
]
HEADERS = ["kernels/arithmetic/requant.h", "kernels/arithmetic/fma.h", "kernels/gemm/gemm.h", "kernels/pool/pool.h", "kernels/include/intaglio/isa.h", "platforms/parallel.h", "runtime/op.h",
           "runtime/model_check.h", "runtime/include/intaglio/session.h", "runtime/include/intaglio/model.h",
           "runtime/include/intaglio/tensor.h", "calibrator/include/intaglio/calibrator.h", "calibrator/bake/graph.h",
           "calibrator/workspace/arena.h", "calibrator/recover/recovery.h", "calibrator/recover/bias_correction.h", "calibrator/judge/judge.h", "calibrator/calibration.h",
           "calibrator/host/system/files.h", "importers/import.h", "importers/draft/draft.h", "importers/onnx/onnx_op.h",
           "importers/tflite/tflite_op.h", "importers/passes/passes.h", "importers/params/params_table.h", "cli/command.h"]


def self_test():
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        lines = {name: ["#pragma once"] for name in HEADERS}
        expected = set()
        for name, included, refused in PLANTED:
            text = lines.setdefault(name, ["// planted"])
            text.append(f"  #  include {included}")
            if refused:
                expected.add((name, len(text)))
        for name, text in lines.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text("\n".join(text) + "\n", encoding="utf-8")
        found = {(name, line) for name, line, _ in violations(root)[0]}
        for folder in ("calibrator", "calibrator/judge", "calibrator/recover", "calibrator/workspace", "calibrator/host", "calibrator/host/system"):
            (root / folder / "README.md").write_text("A page.\n", encoding="utf-8")
        pageless = without_page(root)
    for name, line in sorted(expected - found):
        print(f"{name}:{line}: a planted violation was not found: {lines[name][line - 1].strip()}")
    for name, line in sorted(found - expected):
        print(f"{name}:{line}: refused, though the law allows it: {lines[name][line - 1].strip()}")
    print(f"{len(expected)} planted violations, {len(PLANTED) - len(expected)} legal includes")
    if pageless != ["calibrator/bake"]:
        print(f"folders without a page: {pageless}, where calibrator/bake alone has none")
    return 0 if found == expected and pageless == ["calibrator/bake"] else 1


def main(arguments):
    if arguments == ["--self-test"]:
        return self_test()
    found, count = violations(pathlib.Path(arguments[0]))
    found += [(folder, 0, "has no README.md that says what comes in, what goes out and which rule holds there")
              for folder in without_page(pathlib.Path(arguments[0]))]
    for name, line, text in found:
        print(f"{name}:{line}: {text}")
    print(f"{count} includes, {len(found)} against DESIGN sections 2 and 3")
    return 1 if found or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
