"""The command in this process: what a network says by `Network.command`, and `intaglio.command`."""

from __future__ import annotations

import json
import os
import pathlib
import re
import sys
import tempfile
import warnings
from typing import Any, Callable, Dict, Iterable, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

import numpy as np

from . import _intaglio
from .errors import Error, WrongUse

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


class Option(NamedTuple):
    name: str
    value: str
    what: str
    flag: bool
    repeated: bool
    required: bool

    @property
    def keyword(self) -> str:
        return self.name[2:].replace("-", "_")


_options: Dict[str, Dict[str, Option]] = {}


def options_of(subcommand: str) -> Dict[str, Option]:
    """What a subcommand takes, by keywords of Python. Its arguments without a name are left out."""
    if subcommand not in _options:
        known = [Option(*fields) for fields in _intaglio.options_of(subcommand)]
        _options[subcommand] = {option.keyword: option for option in known if option.name.startswith("--")}
    return _options[subcommand]


class Folder:
    """A folder for what a command reads and writes, which goes with it. Its files have names of their own in messages."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="intaglio-")
        self._shown: List[Tuple[str, str]] = []

    def __enter__(self) -> "Folder":
        return self

    def __exit__(self, *_: object) -> None:
        self._folder.cleanup()

    def place(self, name: str, shown: str) -> str:
        """A file's path; messages and pages call it `shown`."""
        path = os.path.join(self._folder.name, name)
        self._shown.append((path, shown.encode("utf-8", "backslashreplace").decode()))  # a path may hold what is no text
        return path

    def file(self, name: str, content: Any, shown: str) -> str:
        path = self.place(name, shown)
        with open(path, "wb") as file:
            file.write(content)
        return path

    def renamed(self, text: str) -> str:
        """The text with the names that the user knows. Longer paths come first: one may begin with another."""
        for path, shown in sorted(self._shown, key=lambda pair: -len(pair[0])):
            text = text.replace(path, shown)
        return text


class Answer(NamedTuple):
    text: str
    notes: List[str]
    renamed: Callable[[str], str]

    @property
    def json(self) -> Any:
        return self._renamed_in(json.loads(self.text))

    def _renamed_in(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.renamed(value)
        if isinstance(value, list):
            return [self._renamed_in(part) for part in value]
        if isinstance(value, dict):
            return {name: self._renamed_in(part) for name, part in value.items()}
        return value


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


def run(words: Sequence[str], folder: Optional[Folder] = None, progress: Progress = False) -> Answer:
    """Runs a command in this process. Warnings become warnings, failures exceptions."""
    renamed = folder.renamed if folder is not None else (lambda text: text)
    try:
        text, notes, warned = _intaglio.run_words(
            [encoded(word) for word in words], *line_of(progress))
    except WrongUse as error:
        message = renamed(str(error)).split("\nRun 'intaglio")[0]
        raise WrongUse(f"{words[0] if words else 'intaglio'}: {message}") from None
    except Error as error:
        error.args = (renamed(str(error)),)
        raise error from None
    for warning in warned:
        warn(renamed(warning))
    return Answer(text, [renamed(note) for note in notes], renamed)


def _text(value: Any) -> str:
    if isinstance(value, (str, os.PathLike)):
        return os.fspath(value)
    if isinstance(value, (bool, np.bool_)):
        return "1" if value else "0"
    if isinstance(value, (int, np.integer)):
        return str(int(value))
    if isinstance(value, (float, np.floating)):
        return repr(float(value)) if isinstance(value, float) else str(value)
    if isinstance(value, np.ndarray):
        return ",".join(_text(v) for v in value.ravel().tolist())
    if isinstance(value, Iterable):
        return ",".join(_text(v) for v in value)
    raise TypeError(f"{value!r} is no text, number or sequence of them")


def _given(option: Option, text: str) -> List[str]:
    return [f"{option.name}={text}"] if text.startswith("-") else [option.name, text]


def _words(option: Option, value: Any) -> List[str]:
    if value is None or value is False:
        return []
    if option.flag:
        if value is not True:
            raise TypeError(f"{option.keyword} is True or False, not {value!r}")
        return [option.name]
    if value is True:
        raise TypeError(f"{option.keyword} takes a value: {option.value}")
    if isinstance(value, Mapping):
        pairs = [f"{name}={_text(part)}" for name, part in value.items()]
        return [word for pair in pairs for word in _given(option, pair)] if option.repeated else _given(
            option, ",".join(pairs))
    if option.repeated and not isinstance(value, (str, os.PathLike)):
        return [word for part in value for word in _given(option, _text(part))]
    return _given(option, _text(value))


def words_of(subcommand: str, options: Mapping[str, Any], own: Sequence[str] = ()) -> List[str]:
    """The words of keywords. `own` are options that the caller sets itself: they are no keywords."""
    known = {name: option for name, option in options_of(subcommand).items() if name not in own}
    words: List[str] = []
    for name, value in options.items():
        if name not in known:
            raise TypeError(f"there is no option {name!r}; there are {', '.join(known)}")
        words += _words(known[name], value)
    return words


def existing(path: Any) -> str:
    """The path as text, where there is something. Else FileNotFoundError, as open() raises. No dash begins it, as it does
    options."""
    text = os.fsdecode(path)
    os.stat(text)
    return os.path.join(".", text) if text.startswith("-") else text


def is_path(value: Any) -> bool:
    return isinstance(value, (str, pathlib.PurePath)) or (isinstance(value, os.PathLike))
