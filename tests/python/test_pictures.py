"""Pictures that a wheel must read. Builds leave out what the machine has no library for, so a wheel could lack one unseen."""

import base64
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
        said = int8.command("run", input=path)
    except intaglio.Error as error:
        if os.environ.get("ITG_PICTURES") == "all":
            raise
        pytest.skip(str(error))
    pixels = np.full((1, 8, 8, 3), (200, 40, 40), np.uint8)
    given = [place["score"] for place in said["samples"][0]["outputs"][0]["top"]]
    np.testing.assert_allclose(given, np.sort(int8.run(pixels).ravel())[::-1][:len(given)], atol=0.05)
