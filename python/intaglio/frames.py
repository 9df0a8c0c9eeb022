"""Frames as cameras give them, as pictures."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _intaglio


def frame_pixels(data: Any, form: str, *, row_bytes: int = 0, gray: bool = False) -> np.ndarray:
    """A camera's frame as a picture, uint8 of the shape (height, width, 3) in RGB: for `run`, `calibrate` and all that takes pictures. A
    network makes the same input of it as `write_frame` does on a device, integer for integer.

    data: bytes, or an array of them. form: its size and the order of its pixels, "640x480:yuyv"; `intaglio inspect --help` lists the
    orders. row_bytes: from row to row; 0: rows without gaps. gray: a picture of the shape (height, width), for networks that take
    gray: of YUV it is the luma alone.
    """
    raw = np.ascontiguousarray(data).reshape(-1).view(np.uint8) if isinstance(data, np.ndarray) else data
    return _intaglio.frame_pixels(raw, form, row_bytes, gray)
