"""What scripts/release --all adds: Python's packages, static commands, Debian's packages, manual pages with completion, SBOMs."""
import io
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile

import sbom
import wheel_parts

# The libraries that Debian's packages load when they run, by the beginnings of their names; those of wheels are in wheel_parts.
RUNTIME = {"libc6": "LGPL-2.1-or-later", "libgcc": "GPL-3.0-or-later WITH GCC-exception-3.1",
           "libstdc++": "GPL-3.0-or-later WITH GCC-exception-3.1"}


def run(log, words, folder):
    """What a step prints goes to `log`; its end is shown where it fails."""
    print(f"release: {' '.join(map(str, words))}", flush=True)
    with open(log, "w") as out:
        done = subprocess.run(words, cwd=folder, stdout=out, stderr=subprocess.STDOUT)
    if done.returncode:
        print("\n".join(log.read_text(errors="replace").splitlines()[-40:]), file=sys.stderr)
        sys.exit(f"release: {words[0]} failed (whole log: {log})")


def python_packages(root, folder):
    for extra in ([], ["--aarch64"]):
        run(root / f"build/release-wheel{''.join(extra)}.log", [root / "scripts/wheel", "--check", *extra, "--output", folder], root)


def static_commands(root, folder, of, seconds, archive):
    """An archive for each machine that this one can compile for; the others, as sentences."""
    left_out = []
    work = root / "build/release-static"
    shutil.rmtree(work, ignore_errors=True)
    for machine in ("x86_64", "aarch64"):
        here = machine == os.uname().machine
        if not here and machine != "aarch64":
            left_out.append(f"the static command for {machine}: only such a machine makes it")
            continue
        run(root / f"build/release-static-{machine}.log",
            [root / "scripts/static_command", "--check", *([] if here else [f"--{machine}"]), "--output", work], root)
        name = f"intaglio-{of}-linux-{machine}"
        files = {path.name: (path.read_bytes(), 0o755 if path.name == "intaglio" else 0o644) for path in (work / name).iterdir()}
        path = folder / f"{name}.tar.gz"
        archive(name, files, seconds, path)
        write_bills(path, of, (files, parts_in(files)), seconds)
    shutil.rmtree(work)
    return left_out


def lacks_debian():
    """Why Debian's packages cannot be built here, or ''."""
    if not shutil.which("dpkg-buildpackage") or not shutil.which("dh"):
        return "dpkg-buildpackage or debhelper is missing: apt-get install dpkg-dev debhelper"
    return ""


def debian_packages(root, tree, folder):
    lacking = subprocess.run(["dpkg-checkbuilddeps"], cwd=tree, capture_output=True, text=True)
    if lacking.returncode:
        return lacking.stderr.strip()
    run(root / "build/release-debian.log", ["dpkg-buildpackage", "-b", "-us", "-uc"], tree)
    for path in tree.parent.glob("*.deb"):
        if "-dbgsym_" not in path.name:
            shutil.copy(path, folder)
    return ""


def pages(root, package, work):
    """Manual pages and completion, {path: (bytes, mode)}: from the help of the command that is in the Debian package."""
    subprocess.run(["dpkg-deb", "-x", package, work / "command"], check=True)
    subprocess.run([sys.executable, "-B", root / "scripts/command_pages", work / "command/usr/bin/intaglio", work / "pages"], check=True,
                   capture_output=True)
    made = work / "pages"
    return {path.relative_to(made).as_posix(): (path.read_bytes(), 0o644) for path in made.rglob("*") if path.is_file()}


def in_tar(data):
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        return {entry.name.lstrip("./"): (tar.extractfile(entry).read(), 0o644) for entry in tar if entry.isfile()}


def parts_in(files):
    """What the list intaglio.cdx.json among {path: (bytes, mode)} names."""
    bill = json.loads(next(data for name, (data, _) in files.items() if pathlib.PurePath(name).name == "intaglio.cdx.json"))
    parts = []
    for part in bill["components"]:
        licence = part["licenses"][0].get("expression") or part["licenses"][0]["license"]["id"]
        parts.append(sbom.Part(part["name"], licence, part["description"], part.get("version"), sbom.INSIDE))
    return parts


def wheel_contents(path):
    with zipfile.ZipFile(path) as archive:
        files = {name: (archive.read(name), 0o644) for name in archive.namelist() if not name.endswith("/")}
    return files, parts_in(files) + [sbom.Part("numpy", "BSD-3-Clause", "arrays; installed beside it", None, sbom.LOADED)]


def package_contents(path):
    files = in_tar(subprocess.run(["dpkg-deb", "--fsys-tarfile", path], check=True, capture_output=True).stdout)
    headers = wheel_parts.HEADERS if path.name.startswith("intaglio_") else wheel_parts.HEADERS[:1]
    parts = [sbom.Part(name, licence, why, wheel_parts.installed(package)[1] or None, sbom.INSIDE)
             for name, licence, why, package in headers]
    needs = wheel_parts.said("dpkg-deb", "-f", path, "Depends")
    for name, version in re.findall(r"(?:^|, )([a-z0-9+.-]+)(?: \(>?= ([^)]+)\))?", needs):
        if not name.startswith("libintaglio"):
            parts.append(sbom.Part(name, licence_of(name), "a package of Debian's that it needs, of this version or a newer one",
                                   version or None, sbom.LOADED))
    return files, parts


def licence_of(package):
    known = [*RUNTIME.items(), *((start, part[1]) for start, part in wheel_parts.LIBRARIES.items())]
    for start, licence in known:
        if package.startswith(start):
            return licence
    sys.exit(f"release: a Debian package needs {package}, whose licence is not known: add it to RUNTIME in scripts/release_packages.py")


def write_bills(path, of, contents, seconds):
    files, parts = contents
    for suffix, text in sbom.documents(path.name, of, files, parts, seconds):
        path.with_name(path.name + suffix).write_text(text)


def make(root, folder, files, of, seconds, archive):
    """What could not be made, with the reason: a list of sentences."""
    left_out = []
    python, debian = folder / "python", folder / "debian"
    python.mkdir()
    python_packages(root, python)
    for path in sorted(python.glob("*.whl")):
        write_bills(path, of, wheel_contents(path), seconds)
    for path in sorted(python.glob("*.tar.gz")):
        write_bills(path, of, (in_tar(path.read_bytes()), sbom.SOURCES), seconds)
    left_out += static_commands(root, folder, of, seconds, archive)
    # One place always: its path is in the compiler's options, by which a compiler's cache goes.
    work = root / "build/release-debian"
    shutil.rmtree(work, ignore_errors=True)
    unpack(files, work / f"intaglio-{of}")
    debian.mkdir()
    lacking = lacks_debian() or debian_packages(root, work / f"intaglio-{of}", debian)
    if lacking:
        debian.rmdir()
        left_out.append(f"Debian's packages, manual pages and completion: {lacking}")
    else:
        for path in sorted(debian.glob("*.deb")):
            write_bills(path, of, package_contents(path), seconds)
        made = pages(root, next(debian.glob("intaglio_*.deb")), work)
        path = folder / f"intaglio-pages-{of}.tar.gz"
        archive(f"intaglio-pages-{of}", made, seconds, path)
        write_bills(path, of, (made, []), seconds)
    shutil.rmtree(work)
    return left_out


def unpack(files, tree):
    for name, (data, mode) in files.items():
        path = tree / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        path.chmod(mode)
