#!/usr/bin/env python3
"""Puts into a wheel what it holds of others: their licences, and a list with versions.

  scripts/wheel_parts.py WHEEL [--root FOLDER]...

The wheel gets licenses/THIRD_PARTY.txt and sboms/intaglio.cdx.json in its folder dist-info. Texts and versions are of the Debian
packages that it was built from. --root is a folder of scripts/arm_packages, for a wheel of another machine. A wheel with a library
whose licence is not known here is refused. Where this machine has no text of a licence, the wheel says so: it is then not to hand on.
"""
import argparse
import base64
import hashlib
import importlib.metadata
import json
import os
import pathlib
import re
import subprocess
import sys
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "scripts"))
sys.dont_write_bytecode = True
import sbom  # noqa: E402

# Libraries that auditwheel copies in, and static ones that command_parts.py finds, by the beginnings of their names.
LIBRARIES = {"libpugixml": ("pugixml", "MIT", "reads OpenVINO's IR"),
             "libwebp": ("libwebp", "BSD-3-Clause", "WebP pictures"), "libsharpyuv": ("libwebp", "BSD-3-Clause", "WebP pictures"),
             "libgomp": ("libgomp", "GPL-3.0-or-later WITH GCC-exception-3.1", "threads"),
             **{name: ("glibc", "LGPL-2.1-or-later", "the C library") for name in ("libc.", "libm.", "libm-", "libmvec.", "libpthread.")},
             "libstdc++": ("libstdc++", "GPL-3.0-or-later WITH GCC-exception-3.1", "the C++ library"),
             "libgcc": ("libgcc", "GPL-3.0-or-later WITH GCC-exception-3.1", "the compiler's own library")}
# Headers that are compiled in, and their packages.
HEADERS = [("flatbuffers", "Apache-2.0", "model files", "libflatbuffers-dev"),
           ("protozero", "BSD-2-Clause", "reads ONNX files", "libprotozero-dev"),
           ("CLI11", "BSD-3-Clause", "the command line", "libcli11-dev"),
           ("nlohmann-json", "MIT", "--json", "nlohmann-json3-dev"), ("stb", "MIT OR Unlicense", "pictures", "libstb-dev")]
# Whole texts that Debian's files of licences refer to.
COMMON = {"GPL-3.0": "GPL-3", "LGPL-2.1": "LGPL-2.1", "Apache-2.0": "Apache-2.0"}


def said(*words):
    done = subprocess.run(words, capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else ""


def packages_of(roots):
    """{file name: (package, version)} of what scripts/arm_packages unpacked."""
    found = {}
    for root in roots:
        for archive in sorted(pathlib.Path(root).glob("cache/archives/*.deb")):
            package = tuple(said("dpkg-deb", "-f", str(archive), field) for field in ("Package", "Version"))
            for line in said("dpkg-deb", "-c", str(archive)).splitlines():
                found.setdefault(pathlib.PurePath(line.split(" -> ")[0].split()[-1]).name, package)
    return found


def installed(package):
    return package, said("dpkg-query", "-W", "-f=${Version}", package)


def package_of(library, unpacked, foreign):
    """Of libNAME-HASH.so.1.2.3, as auditwheel calls it, or of a path."""
    stem = re.match(r"(lib.+)-[0-9a-f]{8}(\.so.*)", library)
    name = stem[1] + stem[2] if stem else os.path.basename(library)
    if name in unpacked:
        return unpacked[name]
    owners = [line.split(": ")[0].split(":")[0] for line in said("dpkg", "-S", library if os.path.isabs(library) else f"*/{name}").splitlines()]
    owners = sorted((owner for owner in owners if owner.endswith("-cross") == foreign), key=len)
    return installed(owners[0]) if owners else ("", "")


def text_of(package, roots):
    for root in [*(os.path.join(root, "root") for root in roots), "/"]:
        path = pathlib.Path(root, "usr/share/doc", package, "copyright")
        if package and path.is_file():
            return path.read_text(errors="replace")
    return ""


def stb_version():
    """The header's own: the package's names a day."""
    path = pathlib.Path("/usr/include/stb/stb_image.h")
    return re.search(r"stb_image - v([0-9.]+)", path.read_text(errors="replace")[:400])[1] if path.is_file() else ""


def parts_of(libraries, roots):
    """(name, licence, what for, version, text) of everything of others in what holds these libraries."""
    unpacked, parts = packages_of(roots), {}
    for library in libraries:
        known = next((part for start, part in LIBRARIES.items() if os.path.basename(library).startswith(start)), None)
        if known is None:
            sys.exit(f"release: {library} is linked in, whose licence is not known: add it to LIBRARIES in scripts/wheel_parts.py")
        package, version = package_of(library, unpacked, bool(roots))
        parts.setdefault(known[0], (*known, version, text_of(package, roots)))
    for *part, package in HEADERS:
        version = next((version for name, version in unpacked.values() if name == package), installed(package)[1])
        version = stb_version() if part[0] == "stb" else version
        parts.setdefault(part[0], (*part, version, text_of(package, roots)))
    return [parts[name] for name in sorted(parts, key=str.lower)]


def pybind(roots):
    try:
        found = importlib.metadata.distribution("pybind11")
        text = next((file.read_text() for file in found.files or [] if file.name == "LICENSE"), "")
        return ("pybind11", "BSD-3-Clause", "the module", found.version, text)
    except importlib.metadata.PackageNotFoundError:
        return ("pybind11", "BSD-3-Clause", "the module", "", text_of("pybind11-dev", roots))


def notices(whole, parts):
    lines = [f"What this {whole} holds of others, and under which licences. intaglio's own licence is in LICENSE.\n"]
    lines += [f"  {name} {version or '(version not known)'}: {licence} ({why})" for name, licence, why, version, _ in parts]
    for name, _, _, _, text in parts:
        lines += ["", "=" * 100, name, "=" * 100, "", text or f"(This machine had no text of the licence. Do not hand this {whole} on.)"]
    for licence, file in COMMON.items():
        path = pathlib.Path("/usr/share/common-licenses", file)
        if path.is_file() and any(part[1].startswith(licence) for part in parts):
            lines += ["", "=" * 100, f"{path}, which texts above refer to", "=" * 100, "", path.read_text(errors="replace")]
    return "\n".join(lines) + "\n"


def bill(name, parts):
    version = name.split("-")[1]
    listed = [sbom.Part(name, licence, why, found or None, sbom.INSIDE) for name, licence, why, found, _ in parts]
    return json.dumps(sbom.cyclonedx(name, version, {}, listed, None), indent=1) + "\n"


def rewritten(wheel, added):
    """The wheel with {path: text} in it, and RECORD with these in it. What it held keeps its bytes."""
    beside = wheel.with_suffix(".part")
    with zipfile.ZipFile(wheel) as old, zipfile.ZipFile(beside, "w", zipfile.ZIP_DEFLATED) as new:
        record = next(name for name in old.namelist() if name.endswith(".dist-info/RECORD"))
        folder = record[: -len("RECORD")]
        lines = [line for line in old.read(record).decode().splitlines() if not any(line.startswith(folder + name + ",") for name in added)]
        for entry in old.infolist():
            if entry.filename != record and entry.filename not in [folder + name for name in added]:
                new.writestr(entry, old.read(entry), compress_type=entry.compress_type)
        stamp = old.getinfo(record).date_time
        for name, text in sorted(added.items()):
            data = text.encode()
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            lines.insert(0, f"{folder}{name},sha256={digest},{len(data)}")
            put(new, folder + name, data, stamp)
        put(new, record, ("\n".join(lines) + "\n").encode(), stamp)
    os.replace(beside, wheel)


def put(archive, name, data, stamp):
    entry = zipfile.ZipInfo(name, stamp)
    entry.external_attr = 0o100644 << 16
    archive.writestr(entry, data, compress_type=zipfile.ZIP_DEFLATED)


def report_lacking(maker, parts):
    lacking = [part[0] for part in parts if not part[4]]
    if lacking:
        print(f"{maker}: this machine has no licence text of {', '.join(lacking)}: do not hand on what was made", file=sys.stderr)
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheel", type=pathlib.Path)
    parser.add_argument("--root", action="append", default=[], help="a folder of scripts/arm_packages")
    arguments = parser.parse_args()
    with zipfile.ZipFile(arguments.wheel) as archive:
        libraries = [pathlib.PurePath(name).name for name in archive.namelist() if ".libs/lib" in name]
    parts = sorted([*parts_of(libraries, arguments.root), pybind(arguments.root)], key=lambda part: part[0].lower())
    rewritten(arguments.wheel, {"licenses/THIRD_PARTY.txt": notices("wheel", parts),
                                "sboms/intaglio.cdx.json": bill(arguments.wheel.name, parts)})
    return report_lacking("wheel", parts)


if __name__ == "__main__":
    sys.exit(main())
