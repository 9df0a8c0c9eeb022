"""The command in this process (`intaglio.command`), and what the package says: progress, warnings, paths."""

from __future__ import annotations

import os
import pathlib
import sys
import warnings
from typing import Any, Callable, Optional, Sequence, Tuple, Union

from . import _intaglio
from .errors import WrongUse

Progress = Union[Callable[[str, int, int], None], bool, None]
"""Called with the name of a stage, how much of it is done, and how much there is to do. None: a line on stderr, where that is a
terminal or a notebook's. True: the line in any case. False: nothing."""


class ProgressLine:
    """The command's line of progress, on Python's stderr, where it takes the place of the one before."""

    def __init__(self) -> None:
        self._length = 0

    @staticmethod
    def is_wanted(progress: Progress) -> bool:
        if progress is not None:
            return progress is True
        return sys.stderr is not None and (sys.stderr.isatty() or "ipykernel" in type(sys.stderr).__module__)

    def __call__(self, line: str) -> None:
        if sys.stderr is None:
            return
        sys.stderr.write("\r" + line.ljust(self._length) + ("\r" if not line else ""))
        sys.stderr.flush()
        self._length = len(line)


def line_of(progress: Progress) -> Tuple[Optional[Callable[[str, int, int], None]], Optional[ProgressLine]]:
    """What the library calls: with how far the work is, and with the line that shows it."""
    return progress if callable(progress) else None, ProgressLine() if ProgressLine.is_wanted(progress) else None


def encoded(text: Any) -> bytes:
    """A word or a path as the command takes it: UTF-8, and a path's other bytes as they are. A null byte would end it there: another
    file would be written."""
    data = os.fsdecode(text).encode("utf-8", "surrogateescape")
    if b"\0" in data:
        raise ValueError(f"embedded null byte in {os.fsdecode(text)!r}")
    return data


def warn(text: str) -> None:
    """A warning about the line that called this package."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] == __package__:
        level, frame = level + 1, frame.f_back
    warnings.warn(text, stacklevel=level)


def run(words: Sequence[str], progress: Progress = False) -> str:
    """What a command prints that runs in this process. Warnings become warnings, failures exceptions."""
    try:
        text, _, warned = _intaglio.run_words([encoded(word) for word in words], *line_of(progress))
    except WrongUse as error:
        message = str(error).split("\nRun 'intaglio")[0]
        raise WrongUse(f"{words[0] if words else 'intaglio'}: {message}") from None
    for warning in warned:
        warn(warning)
    return text


def existing(path: Any) -> str:
    """The path as text, where there is something. Else FileNotFoundError, as open() raises. No dash begins it, as it does
    options."""
    text = os.fsdecode(path)
    os.stat(text)
    return os.path.join(".", text) if text.startswith("-") else text


def is_path(value: Any) -> bool:
    return isinstance(value, (str, pathlib.PurePath)) or (isinstance(value, os.PathLike))
