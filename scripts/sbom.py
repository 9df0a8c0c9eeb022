"""Software bills of materials for scripts/release: SPDX 2.3 and CycloneDX 1.5, both JSON.

A source archive holds no third-party code; the drop holds headers of FlatBuffers. What a build takes from Debian's packages
is listed beside, as dependencies that are not in the archive.
"""
import datetime
import hashlib
import json
import re
import uuid

SOURCE, DROP = "source", "drop"
LICENSE = "Apache-2.0"
# name, licence, what for. Those of the command are linked into it; the libraries for devices take FlatBuffers alone.
FLATBUFFERS = ("flatbuffers", "Apache-2.0", "model files; headers in every build")
BUILD = [FLATBUFFERS, ("protobuf", "BSD-3-Clause", "ONNX import; linked into the command"),
         ("onnx", "Apache-2.0", "onnx.proto, from which ONNX's reader is generated"),
         ("pugixml", "MIT", "import of OpenVINO's IR; linked into the command"),
         ("CLI11", "BSD-3-Clause", "the command line; headers in the command"),
         ("nlohmann-json", "MIT", "--json; headers in the command"),
         ("stb", "MIT OR Unlicense", "PNG and JPEG; headers in the command"),
         ("libwebp", "BSD-3-Clause", "WebP; linked into the command where it is found"),
         ("doctest", "MIT", "tests")]


def flatbuffers_version(files):
    """Of the headers that the drop holds."""
    text = files.get("intaglio.cc", (b"", 0))[0].decode("utf-8", "replace")
    found = [re.search(rf"#define FLATBUFFERS_VERSION_{part} (\d+)", text) for part in ("MAJOR", "MINOR", "REVISION")]
    return ".".join(match.group(1) for match in found) if all(found) else "NOASSERTION"


def purl(name, version=None):
    return f"pkg:generic/{name.lower()}" + (f"@{version}" if version and version != "NOASSERTION" else "")


def spdx_id(text):
    return "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", text)


def spdx(name, version, files, kind, seconds):
    main = spdx_id("intaglio")
    packages = [{"SPDXID": main, "name": "intaglio", "versionInfo": version, "downloadLocation": "NOASSERTION", "filesAnalyzed": True,
                 "licenseConcluded": LICENSE, "licenseDeclared": LICENSE, "copyrightText": "NOASSERTION",
                 "licenseInfoFromFiles": [LICENSE], "packageVerificationCode": {"packageVerificationCodeValue": verification(files)},
                 "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                                   "referenceLocator": purl("intaglio", version)}]}]
    relations = [{"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": main}]
    inside = [FLATBUFFERS] if kind == DROP else []
    for part in inside + ([] if kind == DROP else BUILD):
        packages.append({"SPDXID": spdx_id(part[0]), "name": part[0],
                         "versionInfo": flatbuffers_version(files) if part in inside else "NOASSERTION",
                         "downloadLocation": "NOASSERTION", "filesAnalyzed": False, "licenseConcluded": part[1],
                         "licenseDeclared": part[1], "copyrightText": "NOASSERTION", "comment": part[2]})
        relations.append({"spdxElementId": main, "relationshipType": "CONTAINS", "relatedSpdxElement": spdx_id(part[0])}
                         if part in inside else
                         {"spdxElementId": spdx_id(part[0]), "relationshipType": "BUILD_DEPENDENCY_OF", "relatedSpdxElement": main})
    listed = []
    for path, (data, _) in sorted(files.items()):
        listed.append({"SPDXID": spdx_id("file-" + hashlib.sha1(path.encode()).hexdigest()), "fileName": f"./{path}",
                       "checksums": [{"algorithm": "SHA1", "checksumValue": hashlib.sha1(data).hexdigest()},
                                     {"algorithm": "SHA256", "checksumValue": hashlib.sha256(data).hexdigest()}],
                       "licenseConcluded": LICENSE, "licenseInfoInFiles": [LICENSE], "copyrightText": "NOASSERTION"})
        relations.append({"spdxElementId": main, "relationshipType": "CONTAINS", "relatedSpdxElement": listed[-1]["SPDXID"]})
    return {"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": name,
            "documentNamespace": f"urn:intaglio:{name}:{verification(files)}",
            "creationInfo": {"created": moment(seconds), "creators": ["Tool: intaglio scripts/sbom.py"]},
            "packages": packages, "files": listed, "relationships": relations}


def cyclonedx(name, version, files, kind, seconds):
    inside = kind == DROP
    parts = [FLATBUFFERS] if inside else BUILD
    components = [{"type": "library", "bom-ref": purl(part[0]), "name": part[0], "description": part[2],
                   "scope": "required" if inside else "excluded", "licenses": licences(part[1])} for part in parts]
    if inside and flatbuffers_version(files) != "NOASSERTION":
        components[0].update(version=flatbuffers_version(files), purl=purl("flatbuffers", flatbuffers_version(files)))
    reference = purl("intaglio", version)
    return {"bomFormat": "CycloneDX", "specVersion": "1.5",
            "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, name + verification(files))}", "version": 1,
            "metadata": {"timestamp": moment(seconds),
                         "component": {"type": "library", "bom-ref": reference, "name": name, "version": version,
                                       "licenses": licences(LICENSE), "purl": reference}},
            "components": components,
            "dependencies": [{"ref": reference, "dependsOn": [component["bom-ref"] for component in components]}]}


def licences(expression):
    return [{"expression": expression}] if " " in expression else [{"license": {"id": expression}}]


def verification(files):
    """SPDX 2.3, section 7.9: SHA-1 over the sorted SHA-1s of the files."""
    return hashlib.sha1("".join(sorted(hashlib.sha1(data).hexdigest() for data, _ in files.values())).encode()).hexdigest()


def moment(seconds):
    return datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def documents(name, version, files, kind, seconds):
    for suffix, maker in ((".spdx.json", spdx), (".cdx.json", cyclonedx)):
        yield suffix, json.dumps(maker(name, version, files, kind, seconds), indent=1) + "\n"


def check(folder):
    """What the formats ask for and a reader would stumble over: identities that are unique, references that lead somewhere."""
    for path in folder.glob("*.spdx.json"):
        document = json.loads(path.read_text())
        names = [part["SPDXID"] for part in document["packages"] + document["files"]] + ["SPDXRef-DOCUMENT"]
        assert len(names) == len(set(names)), f"{path.name}: an identity is there twice"
        for relation in document["relationships"]:
            assert relation["spdxElementId"] in names and relation["relatedSpdxElement"] in names, f"{path.name}: {relation}"
    for path in folder.glob("*.cdx.json"):
        document = json.loads(path.read_text())
        names = [document["metadata"]["component"]["bom-ref"]] + [part["bom-ref"] for part in document["components"]]
        assert len(names) == len(set(names)), f"{path.name}: a reference is there twice"
        assert all(name in names for entry in document["dependencies"] for name in [entry["ref"], *entry["dependsOn"]]), path.name
