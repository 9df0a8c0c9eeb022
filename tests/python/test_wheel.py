"""What only a wheel can lack: pictures, since builds leave out what the machine has no library for, and others' licences."""

import base64
import hashlib
import importlib.metadata
import json
import os

import numpy as np
import pytest

import intaglio

# 8 x 8 pixels of (200, 40, 40), as Pillow writes them.
FILES = {
    "jpg": "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAA0JCgsKCA0LCgsODg0PEyAVExISEyccHhcgLikxMC4pLSwzOko+MzZGNywtQFdBRkxOUlNSMj5aYVpQYEpRUk//"
           "2wBDAQ4ODhMREyYVFSZPNS01T09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT0//wAARCAAIAAgDASIAAhEB"
           "AxEB/8QAFQABAQAAAAAAAAAAAAAAAAAAAAX/xAAUEAEAAAAAAAAAAAAAAAAAAAAA/8QAFQEBAQAAAAAAAAAAAAAAAAAABAb/xAAUEQEAAAAAAAAAAAAAAAAAAAAA"
           "/9oADAMBAAIRAxEAPwCMAArn/9k=",
    "webp": "UklGRh4AAABXRUJQVlA4TBEAAAAvB8ABAAdQlCIXpf+BiOh/AAA=",
}


@pytest.mark.parametrize("kind", FILES)
def test_a_picture_gives_what_its_pixels_give(int8, tmp_path, kind):
    path = tmp_path / f"red.{kind}"
    path.write_bytes(base64.b64decode(FILES[kind]))
    try:
        int8.save(tmp_path / "int8.itg")
        said = json.loads(intaglio.command("run", tmp_path / "int8.itg", path, "--json"))
    except intaglio.Error as error:
        if os.environ.get("ITG_PICTURES") == "all":
            raise
        pytest.skip(str(error))
    pixels = np.full((1, 8, 8, 3), (200, 40, 40), np.uint8)
    given = [place["score"] for place in said["samples"][0]["outputs"][0]["top"]]
    np.testing.assert_allclose(given, np.sort(int8.run(pixels).ravel())[::-1][:len(given)], atol=0.05)


def test_the_wheel_holds_the_licences_of_what_is_in_it():
    try:
        files = {str(file): file for file in importlib.metadata.distribution("intaglio").files or []}
    except importlib.metadata.PackageNotFoundError:
        files = {}
    bundled = [name for name in files if ".libs/lib" in name]
    if not bundled:
        pytest.skip("no libraries of others are in it")
    one = {name.rsplit("dist-info/", 1)[1]: file for name, file in files.items() if "dist-info/" in name}
    bill = json.loads(one["sboms/intaglio.cdx.json"].read_text())
    notices = one["licenses/THIRD_PARTY.txt"].read_text()
    versions = {part["name"]: part.get("version") for part in bill["components"]}
    for library, name in (("libpugixml", "pugixml"), ("libwebp", "libwebp"), ("libgomp", "libgomp")):
        if any(library in path for path in bundled):
            assert versions[name], f"{name} has no version"
            assert f"  {name} {versions[name]}: " in notices
    assert "had no text of the licence" not in notices
    assert ("GCC RUNTIME LIBRARY EXCEPTION" in notices.upper()) == ("libgomp" in versions)
    for name in ("sboms/intaglio.cdx.json", "licenses/THIRD_PARTY.txt"):  # RECORD says what is there
        digest = base64.urlsafe_b64encode(hashlib.sha256(one[name].locate().read_bytes()).digest()).rstrip(b"=").decode()
        assert one[name].hash.value == digest
