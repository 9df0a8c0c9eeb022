"""Samples as people have them, as the library takes them: folders, pictures, arrays, iterables of batches."""

from __future__ import annotations

import os
from typing import Any, Iterable, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

import numpy as np

from . import _intaglio
from .words import existing, is_path

Shape = Tuple[int, ...]


class Input(NamedTuple):
    """An input of a network."""

    name: str
    shape: Shape
    dtype: str
    picture: Optional[str]
    scale: Optional[float]
    zero_point: Optional[int]

    @property
    def takes(self) -> str:
        one = self.shape[1:] if self.shape[:1] == (1,) else self.shape
        shape = f"(N, {', '.join(map(str, one))})"
        values = f"{self.dtype} arrays {shape}"
        if self.dtype == "int8" and self.scale is not None:
            values = (f"float32 arrays {shape}, of which it makes codes by its scale {self.scale:.6g} and zero point "
                      f"{self.zero_point}, or int8 arrays of codes")
        return f"{values}, or uint8 pictures (N, height, width, {one[-1]})" if self.picture else values


def as_array(value: Any) -> np.ndarray:
    """An array of numpy's, of torch's, TensorFlow's and other libraries' tensors too, in this machine's byte order. A copy only
    where it must be."""
    if isinstance(value, np.ma.MaskedArray):
        if np.ma.is_masked(value):
            raise ValueError(f"the array is masked: {np.ma.count_masked(value)} of its values are left out, and a network takes all; "
                             "give values for them, e.g. with .filled(0)")
        return as_array(value.data)
    if isinstance(value, np.ndarray):
        return value if value.dtype.isnative else value.astype(value.dtype.newbyteorder("="))
    if hasattr(value, "detach"):  # torch: on any device, with or without a gradient
        value = value.detach().cpu()
        if str(value.dtype) == "torch.bfloat16":
            value = value.float()
    return np.asarray(value)


def _without_ones(shape: Sequence[int]) -> Shape:
    return tuple(size for size in shape if size != 1)


def _fits(shape: Sequence[int], wanted: Shape) -> bool:
    return _without_ones(shape) == _without_ones(wanted)


_TYPES = {np.dtype(name) for name in ("bool", "uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64", "float16",
                                      "float32", "float64")}


def _checked(array: np.ndarray, wanted: Input, where: str) -> np.ndarray:
    """The array, if the command reads its type for this input: any floats and integers, uint8 for pictures, int8 for codes."""
    hint = ""
    if array.dtype in _TYPES:
        if wanted.dtype == "int32":
            if array.dtype.kind != "f":
                return array.astype(np.int32) if array.dtype == np.uint8 else array
            hint = "; make integers of it with .astype(numpy.int32) if it holds such"
        elif array.dtype == np.uint8 and not wanted.picture:
            hint = ("; uint8 is for pictures, for which it has no preprocessing: import the network with pixels=, or with mean= "
                    "and norm=")
        elif array.dtype == np.int8 and wanted.dtype != "int8":
            hint = "; int8 is for codes: make values of it with .astype(numpy.float32) if it holds such"
        else:
            return array
    raise TypeError(f"{where}: holds {array.dtype}, and the input {wanted.name!r} takes {wanted.takes}{hint}")


def as_values(array: np.ndarray, where: str) -> np.ndarray:
    """The numbers as float32. What it cannot hold is refused, as the command does."""
    if array.dtype.kind != "f" and array.size and not -(2**24) <= int(array.min()) <= int(array.max()) <= 2**24:
        raise ValueError(f"{where}: holds integers from {array.min()} to {array.max()}, which float32 may not hold exactly; give "
                         "values within 2^24 of 0")
    with np.errstate(over="ignore"):
        values = array.astype(np.float32, copy=False)
    if array.dtype == np.float64 and (np.isinf(values) & np.isfinite(array)).any():
        raise ValueError(f"{where}: holds numbers beyond float32")
    return values


def _channels_last(array: np.ndarray, first: int) -> np.ndarray:
    return np.moveaxis(array, first, -1)


def _picture_samples(array: np.ndarray, wanted: Input, where: str) -> np.ndarray:
    """[N, h, w] or [N, h, w, 1, 3 or 4]; channels may also come first."""
    if array.ndim == 4 and array.shape[3] not in (1, 3, 4) and array.shape[1] in (1, 3, 4):
        return _channels_last(array, 1)
    if array.ndim == 3 and array.shape[2] in (1, 3, 4):
        return array[np.newaxis]
    if array.ndim == 3 and array.shape[0] in (3, 4) and wanted.shape[-1] > 1:
        raise ValueError(f"{where}: has the shape {array.shape}, which may be one picture with its channels first, or "
                         f"{array.shape[0]} gray ones; give the shape {(1, *array.shape)} or {(*array.shape, 1)}")
    if array.ndim == 2:
        return array[np.newaxis]
    if array.ndim == 3 or (array.ndim == 4 and array.shape[3] in (1, 3, 4)):
        return array
    raise ValueError(f"{where}: has the shape {array.shape}; pictures are (N, height, width) or (N, height, width, 1, 3 or 4)")


def as_samples(value: Any, wanted: Input, where: str) -> np.ndarray:
    """The samples in one array, [N, ...] in the order of the network's input. One sample without N is one, too.

    Networks take channels last. An array with channels first, as torch has them, is turned where only that fits.
    """
    array = _checked(as_array(value), wanted, where)
    if array.size == 0:
        raise ValueError(f"{where}: has the shape {array.shape}, and so holds no samples")
    if array.dtype == np.uint8 and wanted.picture:
        return _picture_samples(array, wanted, where)
    if _fits(array.shape, wanted.shape):
        return array.reshape((1, *wanted.shape))
    if array.ndim > 0 and _fits(array.shape[1:], wanted.shape):
        return array.reshape((array.shape[0], *wanted.shape))
    if array.ndim > 1 and _fits(_channels_last(array, 1).shape[1:], wanted.shape):
        return _channels_last(array, 1).reshape((array.shape[0], *wanted.shape))
    if array.ndim > 1 and _fits(_channels_last(array, 0).shape, wanted.shape):
        return _channels_last(array, 0).reshape((1, *wanted.shape))
    if array.ndim > 1 and len(_without_ones(wanted.shape)) <= 1 and array[0].size == np.prod(wanted.shape):
        return array.reshape((array.shape[0], *wanted.shape))  # a feature map for one flat row
    raise ValueError(f"{where}: has the shape {array.shape}, and the input {wanted.name!r} takes {wanted.takes}")


def _parts(item: Any, inputs: Sequence[Input], where: str) -> List[Any]:
    """What one item of an iterable holds for each input: (x, y) pairs of a data loader hold labels that nobody reads."""
    if isinstance(item, Mapping):
        missing = [i.name for i in inputs if i.name not in item]
        if missing and not (len(inputs) == 1 and len(item) == 1):
            raise ValueError(f"{where}: has no {missing[0]!r}; the network's inputs are {', '.join(i.name for i in inputs)}, "
                             f"and this one has {', '.join(map(str, item))}")
        return [next(iter(item.values()))] if missing else [item[i.name] for i in inputs]
    if isinstance(item, (list, tuple)) and item and not np.isscalar(item[0]):
        if len(item) < len(inputs):
            raise ValueError(f"{where}: has {len(item)} parts; the network has {len(inputs)} inputs")
        if len(inputs) == 1:
            if isinstance(item[0], (list, tuple)):
                return [item]
            _refuse_samples_as_parts(item, inputs[0], where)
        return list(item[: len(inputs)])
    if len(inputs) != 1:
        raise ValueError(f"{where}: the network has the inputs {', '.join(i.name for i in inputs)}; give a dict of arrays by "
                         "their names, or a tuple in their order")
    return [item]


def _refuse_samples_as_parts(item: Sequence[Any], wanted: Input, where: str) -> None:
    """Only the first part is read: a second one that fits the input as well may be a sample, which would be lost."""
    first = as_array(item[0])
    for part in item[1:]:
        array = as_array(part)
        try:
            fits = array.dtype == first.dtype and len(as_samples(array, wanted, where)) > 0
        except (TypeError, ValueError):
            fits = False
        if fits:
            raise ValueError(f"{where}: is a {type(item).__name__} of {len(item)} arrays that fit the input {wanted.name!r}; make "
                             "one array of them with numpy.stack, or give only the first where the others are no samples")


Source = Union[str, Tuple[str, List[Any]]]
"""A path; or what messages call them, and pictures' paths or arrays whose first dimension counts samples."""


class Samples(NamedTuple):
    sources: List[Source]
    """One an input."""
    size: Optional[int]
    """None where only the library counts them."""


class _Arrays:
    """The samples of one input: arrays of one type, and of one shape but for pictures."""

    def __init__(self, wanted: Input, name: str, copies: bool) -> None:
        self.wanted, self.name, self.copies = wanted, name, copies
        self.arrays: List[np.ndarray] = []
        self.count = 0

    def add(self, samples: np.ndarray, where: str) -> None:
        first = self.arrays[0] if self.arrays else samples
        if samples.dtype != first.dtype:
            raise TypeError(f"{where}: holds {samples.dtype}, and those before it {first.dtype}; give one type")
        if samples.shape[1:] != first.shape[1:] and not (self.wanted.picture and samples.dtype == np.uint8):
            raise ValueError(f"{where}: its samples have the shape {samples.shape[1:]}, and those before it {first.shape[1:]}")
        # An iterable may give the same buffer again, with other samples in it.
        self.arrays.append(np.array(samples, order="C") if self.copies else np.ascontiguousarray(samples))
        self.count += len(samples)

    @property
    def source(self) -> Source:
        return self.name, self.arrays


def _gathered(batches: Iterable[Any], inputs: Sequence[Input], what: str) -> Samples:
    copies = not isinstance(batches, (list, tuple))
    held = [_Arrays(wanted, what if len(inputs) == 1 else f"{what}[{wanted.name!r}]", copies) for wanted in inputs]
    for b, item in enumerate(batches):
        where = f"{what}[{b}]"
        before = [one.count for one in held]
        for part, one in zip(_parts(item, inputs, where), held):
            one.add(as_samples(part, one.wanted, where), where)
        counts = [one.count - had for one, had in zip(held, before)]
        if len(set(counts)) > 1:
            raise ValueError(f"{where}: has {', '.join(map(str, counts))} samples for the inputs; give each as many")
    if held[0].count == 0:
        raise ValueError(f"{what}: gave no samples; a generator gives what it has once, so make a new one")
    return Samples([one.source for one in held], held[0].count)


def _pictures(paths: Sequence[Any], what: str) -> Samples:
    """Of pictures by their paths, in their order."""
    found: List[Any] = []
    for k, given in enumerate(paths):
        if not is_path(given):
            raise TypeError(f"{what}[{k}]: is no path, as those before it are; give paths or arrays")
        path = existing(given)
        if os.path.splitext(path)[1].lower() not in _intaglio.picture_endings:
            raise ValueError(f"{what}[{k}]: {path} is no picture; a list of paths holds pictures "
                             f"({', '.join(_intaglio.picture_endings)}), and a folder or an .npy file is given by its path alone")
        found.append(path)
    return Samples([(what, found)], len(found))


def _is_list_of_paths(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and len(value) > 0 and is_path(value[0])


def samples_of(batches: Any, inputs: Sequence[Input], what: str = "batches") -> Samples:
    """Of a path, pictures' paths, an array, an iterable of batches, or a dict of these by inputs' names."""
    if is_path(batches):
        if len(inputs) != 1:
            raise ValueError(f"{what}: the network has the inputs {', '.join(i.name for i in inputs)}; give a dict of paths by their "
                             "names")
        return Samples([existing(batches)], None)
    if _is_list_of_paths(batches):
        return _pictures(batches, what)
    if isinstance(batches, Mapping):
        unknown = [name for name in batches if name not in {i.name for i in inputs}]
        if unknown:
            raise ValueError(f"{what}: the network has no input {unknown[0]!r}; it has {', '.join(i.name for i in inputs)}")
        missing = [wanted.name for wanted in inputs if wanted.name not in batches]
        if missing:
            raise ValueError(f"{what}: has nothing for the input {missing[0]!r}")
        parts = [samples_of(batches[wanted.name], [wanted], f"{what}[{wanted.name!r}]") for wanted in inputs]
        return Samples([part.sources[0] for part in parts], parts[0].size)
    if not _is_array(batches) and not isinstance(batches, Iterable):
        raise TypeError(f"{what}: {type(batches).__name__} is no path, array, iterable of arrays or dict of these")
    return _gathered([batches] if _is_array(batches) else batches, inputs, what)


def _is_array(value: Any) -> bool:
    return isinstance(value, np.ndarray) or hasattr(value, "detach") or (
        hasattr(value, "__array__") and not isinstance(value, (list, tuple)))


def labels_of(labels: Any, samples: Samples) -> Any:
    """Right classes as the library takes them: a file or a folder, or a number for each sample."""
    if is_path(labels):
        return existing(labels)
    numbers = as_array(labels)
    if numbers.dtype.kind not in "iu" or numbers.size == 0:
        raise TypeError("labels: give a class number for each sample, or a path")
    if _without_ones(numbers.shape[1:]) or numbers.ndim == 0:
        hint = "; of rows with a 1 at the right class .argmax(-1) makes numbers" if numbers.ndim == 2 else ""
        raise ValueError(f"labels: has the shape {numbers.shape}; give a class number for each sample{hint}")
    if samples.size is not None and len(numbers) != samples.size:
        raise ValueError(f"labels: has {len(numbers)} class numbers for {samples.size} samples; give each sample one")
    return [int(number) for number in numbers.ravel()]
