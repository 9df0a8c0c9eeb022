"""What was observed of samples, as a value: it pickles, and parts add up."""

from __future__ import annotations

import io
import os
from typing import Any, Iterable, Optional, Union

from . import _intaglio
from .words import encoded, existing, is_path


class Observed:
    """Made by `observe`; holds no samples. Parts of one network add up in any order: `a + b`, `sum(parts)`.

    Its bytes are those of the file that `intaglio observe` writes.
    """

    def __init__(self, state: Union[bytes, bytearray, memoryview]) -> None:
        self._state = bytes(state)
        self.samples: int = _intaglio.observed_samples(self._state)

    @staticmethod
    def of(given: Any) -> "Observed":
        """`given` itself, or that of its bytes or its file."""
        if isinstance(given, Observed):
            return given
        if is_path(given):
            with io.open(existing(given), "rb") as file:
                return Observed(file.read())
        if isinstance(given, (bytes, bytearray, memoryview)):
            return Observed(given)
        raise TypeError(f"observed: is nothing that observe() made and no path of its file, but {type(given).__name__}")

    @staticmethod
    def merged(parts: Iterable["Observed"], most_of_one: Optional[float] = None) -> "Observed":
        """Their sum. most_of_one: draw in what a part says to the farthest of the others, and this share more; all parts at once."""
        if most_of_one is not None and not 0 <= most_of_one <= 1:
            raise ValueError(f"most_of_one: is {most_of_one}, and has to be a share between 0 and 1")
        return Observed(_intaglio.merge([bytes(part) for part in parts], most_of_one))

    def __add__(self, other: Any) -> "Observed":
        if not isinstance(other, Observed):
            return NotImplemented
        return Observed(_intaglio.merge([self._state, other._state]))

    def __radd__(self, start: Any) -> "Observed":  # sum() begins with 0
        if isinstance(start, int) and start == 0:
            return self
        return NotImplemented

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, Observed) and self._state == other._state

    def __hash__(self) -> int:
        return hash(self._state)

    def __bytes__(self) -> bytes:
        return self._state

    def __repr__(self) -> str:
        return f"<intaglio.Observed: {self.samples} samples, {len(self._state):,} bytes>"

    def save(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """Writes the file that `intaglio merge` and `intaglio calibrate --from` take."""
        _intaglio.write_file(encoded(path), self._state)


class Question(Exception):
    """What a calibration asks of samples elsewhere: `calibrate` raises it, and `observe` answers it. It pickles.

    Its bytes are those of the file that `intaglio calibrate --question` writes.
    """

    def __init__(self, question: Union[bytes, bytearray, memoryview]) -> None:
        super().__init__(bytes(question))

    def __bytes__(self) -> bytes:
        return bytes(self.args[0])

    def __str__(self) -> str:
        return "sums over the samples are missing: answer this with observe(question=) in each place, and give calibrate() the answers, too"

    def __repr__(self) -> str:
        return f"<intaglio.Question: {len(self.args[0]):,} bytes>"

    def save(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """Writes the file that `intaglio observe --question` takes."""
        _intaglio.write_file(encoded(path), self.args[0])
