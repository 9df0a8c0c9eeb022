"""Software bills of materials for scripts/release and wheels: SPDX 2.3 and CycloneDX 1.5, both JSON.

A source archive holds no third-party code; the drop holds headers of FlatBuffers. What a build takes from Debian's packages
is listed beside, as dependencies that are not in the archive. Wheels and Debian packages list what was compiled into them.
"""
import datetime
import hashlib
import json
import re
import typing
import urllib.parse
import uuid

LICENSE = "Apache-2.0"
# How a part belongs to the whole: in it, loaded when it runs, or of its making alone.
INSIDE, LOADED, BUILD = "inside", "loaded", "build"


class Part(typing.NamedTuple):
    name: str
    licence: str  # of SPDX's list
    why: str
    version: typing.Optional[str]
    place: str


# Those of the command are linked into it; the libraries for devices take FlatBuffers alone.
SOURCES = [Part(*words, None, BUILD) for words in (
    ("flatbuffers", "Apache-2.0", "model files; headers in every build"),
    ("protozero", "BSD-2-Clause", "ONNX import; headers in the command"),
    ("pugixml", "MIT", "import of OpenVINO's IR; linked into the command"),
    ("CLI11", "BSD-3-Clause", "the command line; headers in the command"),
    ("nlohmann-json", "MIT", "--json; headers in the command"),
    ("stb", "MIT OR Unlicense", "PNG and JPEG; headers in the command"),
    ("libwebp", "BSD-3-Clause", "WebP; linked into the command where it is found"),
    ("doctest", "MIT", "tests"))]


def drop_parts(files):
    return [Part("flatbuffers", "Apache-2.0", "model files; headers in it", flatbuffers_version(files), INSIDE)]


def flatbuffers_version(files):
    """Of the headers that the drop holds."""
    text = files.get("intaglio.cc", (b"", 0))[0].decode("utf-8", "replace")
    found = [re.search(rf"#define FLATBUFFERS_VERSION_{part} (\d+)", text) for part in ("MAJOR", "MINOR", "REVISION")]
    return ".".join(match.group(1) for match in found) if all(found) else None


def purl(name, version=None):
    return f"pkg:generic/{name.lower()}" + (f"@{urllib.parse.quote(version)}" if version else "")


def spdx_id(text):
    return "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", text)


def spdx(name, version, files, parts, seconds):
    main = spdx_id("intaglio")
    packages = [{"SPDXID": main, "name": "intaglio", "versionInfo": version, "downloadLocation": "NOASSERTION", "filesAnalyzed": True,
                 "licenseConcluded": LICENSE, "licenseDeclared": LICENSE, "copyrightText": "NOASSERTION",
                 "licenseInfoFromFiles": ["NOASSERTION"] if inside(parts) else [LICENSE],
                 "packageVerificationCode": {"packageVerificationCodeValue": verification(files)},
                 "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                                   "referenceLocator": purl("intaglio", version)}]}]
    relations = [{"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": main}]
    for part in parts:
        packages.append({"SPDXID": spdx_id(part.name), "name": part.name, "versionInfo": part.version or "NOASSERTION",
                         "downloadLocation": "NOASSERTION", "filesAnalyzed": False, "licenseConcluded": part.licence,
                         "licenseDeclared": part.licence, "copyrightText": "NOASSERTION", "comment": part.why})
        ends = (main, spdx_id(part.name)) if part.place != BUILD else (spdx_id(part.name), main)
        kind = {INSIDE: "CONTAINS", LOADED: "DEPENDS_ON", BUILD: "BUILD_DEPENDENCY_OF"}[part.place]
        relations.append({"spdxElementId": ends[0], "relationshipType": kind, "relatedSpdxElement": ends[1]})
    listed = []
    for path, (data, _) in sorted(files.items()):
        listed.append({"SPDXID": spdx_id("file-" + hashlib.sha1(path.encode()).hexdigest()), "fileName": f"./{path}",
                       "checksums": [{"algorithm": "SHA1", "checksumValue": hashlib.sha1(data).hexdigest()},
                                     {"algorithm": "SHA256", "checksumValue": hashlib.sha256(data).hexdigest()}],
                       "licenseConcluded": "NOASSERTION" if inside(parts) else LICENSE,
                       "licenseInfoInFiles": ["NOASSERTION" if inside(parts) else LICENSE], "copyrightText": "NOASSERTION"})
        relations.append({"spdxElementId": main, "relationshipType": "CONTAINS", "relatedSpdxElement": listed[-1]["SPDXID"]})
    return {"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": name,
            "documentNamespace": f"urn:intaglio:{name}:{verification(files)}",
            "creationInfo": {"created": moment(seconds), "creators": ["Tool: intaglio scripts/sbom.py"]},
            "packages": packages, "files": listed, "relationships": relations}


def inside(parts):
    """Whether a file may hold something of others, so that its licence is not ours alone."""
    return any(part.place == INSIDE for part in parts)


def cyclonedx(name, version, files, parts, seconds):
    """Without a moment where `seconds` is None: for what is made at any time."""
    components = []
    for part in parts:
        components.append({"type": "library", "bom-ref": purl(part.name), "name": part.name, "description": part.why,
                           "scope": "excluded" if part.place == BUILD else "required", "licenses": licences(part.licence)})
        if part.version:
            components[-1].update(version=part.version, purl=purl(part.name, part.version))
    reference = purl("intaglio", version)
    about = {"component": {"type": "library", "bom-ref": reference, "name": name, "version": version,
                           "licenses": licences(LICENSE), "purl": reference}}
    if seconds is not None:
        about["timestamp"] = moment(seconds)
    return {"bomFormat": "CycloneDX", "specVersion": "1.5",
            "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, name + verification(files))}", "version": 1,
            "metadata": about, "components": components,
            "dependencies": [{"ref": reference, "dependsOn": [component["bom-ref"] for component in components]}]}


def licences(expression):
    return [{"expression": expression}] if " " in expression else [{"license": {"id": expression}}]


def verification(files):
    """SPDX 2.3, section 7.9: SHA-1 over the sorted SHA-1s of the files."""
    return hashlib.sha1("".join(sorted(hashlib.sha1(data).hexdigest() for data, _ in files.values())).encode()).hexdigest()


def moment(seconds):
    return datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def documents(name, version, files, parts, seconds):
    for suffix, maker in ((".spdx.json", spdx), (".cdx.json", cyclonedx)):
        yield suffix, json.dumps(maker(name, version, files, parts, seconds), indent=1) + "\n"


def check(folder):
    """What the formats ask for and a reader would stumble over: identities that are unique, references that lead somewhere."""
    for path in folder.rglob("*.spdx.json"):
        document = json.loads(path.read_text())
        names = [part["SPDXID"] for part in document["packages"] + document["files"]] + ["SPDXRef-DOCUMENT"]
        assert len(names) == len(set(names)), f"{path.name}: an identity is there twice"
        for relation in document["relationships"]:
            assert relation["spdxElementId"] in names and relation["relatedSpdxElement"] in names, f"{path.name}: {relation}"
    for path in folder.rglob("*.cdx.json"):
        document = json.loads(path.read_text())
        names = [document["metadata"]["component"]["bom-ref"]] + [part["bom-ref"] for part in document["components"]]
        assert len(names) == len(set(names)), f"{path.name}: a reference is there twice"
        assert all(name in names for entry in document["dependencies"] for name in [entry["ref"], *entry["dependsOn"]]), path.name
