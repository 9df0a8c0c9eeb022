"""A model: what it holds, what it needs, and running it."""

from __future__ import annotations

import builtins
import html
import operator
import os
import threading
import weakref
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

import numpy as np

from . import _intaglio
from .batches import Input, as_samples, as_values
from .tables import Report, Table
from .words import encoded, existing, is_path, warn

__all__ = ["Network", "Tensor", "open"]


class Tensor(NamedTuple):
    """An input, an output or a state of a network. Activations have their channels last."""

    name: str
    shape: Tuple[int, ...]
    dtype: str
    """numpy's name of the type."""
    scale: Optional[float]
    """real = scale * (code - zero_point); None where it is not quantized."""
    zero_point: Optional[int]
    picture: Optional[str]
    """How a picture becomes this input, in words; None where it takes no pictures."""


def _checked_threads(threads: Any) -> int:
    """A number that the compiled module takes; it says itself where it is too large."""
    try:
        number = operator.index(threads)
    except TypeError:
        raise TypeError(f"threads: {threads!r} is no whole number") from None
    return max(-1, min(number, 2**31 - 1))


_networks: "weakref.WeakSet[Network]" = weakref.WeakSet()


def _free_locks() -> None:
    """A child of os.fork() has no thread that would give back what another one held."""
    for network in list(_networks):
        network._lock = threading.RLock()


os.register_at_fork(after_in_child=_free_locks)


class Network:
    """A model file in memory, with a session that runs it.

    `intaglio.open`, `intaglio.import_onnx` and `intaglio.calibrate` make one. Several threads may call `run`: they take
    turns. Two networks run at the same time. Copies and pickles hold the file alone.
    """

    report: Optional[Report] = None
    """What the calibration or the import said; None of a file that was opened."""

    def __init__(self, content: Any, name: str = "network", threads: int = 1, isa: str = "") -> None:
        self._runner = _intaglio.Runner(content, encoded(name))
        self._lock = threading.RLock()
        _networks.add(self)
        self._threads, self._isa = _checked_threads(threads), isa
        self._runner.set_execution(self._threads, isa)
        self.inputs: List[Tensor] = [Tensor(**tensor) for tensor in self._runner.inputs()]
        self.outputs: List[Tensor] = [Tensor(**tensor) for tensor in self._runner.outputs()]
        self.states: List[Tensor] = [Tensor(**tensor) for tensor in self._runner.states()]

    # Its contents.

    @property
    def name(self) -> str:
        """What messages call it: the file that it was made from."""
        return self._runner.name

    @property
    def node_count(self) -> int:
        return self._runner.node_count

    def __bytes__(self) -> bytes:
        return self._runner.bytes().tobytes()

    def __len__(self) -> int:
        """Bytes of the file."""
        return int(self._runner.bytes().size)

    def __bool__(self) -> bool:
        return True

    def __reduce__(self) -> Tuple[Any, ...]:
        return Network, (bytes(self), self.name, self._threads, self._isa)

    def save(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """Writes the file. It is written whole, or stays as it was. It replaces a model or an empty file, and no other."""
        place = encoded(path)
        _intaglio.check_model(place)
        _intaglio.write_file(place, self._runner.bytes())

    @property
    def threads(self) -> int:
        """How many threads work on each layer. Results do not depend on it.

        Setting it makes a new session with the same inputs: views that were taken before stay those of the old one, so take new
        ones. It is refused where states hold a sequence; `reset` ends one.
        """
        return self._threads

    @threads.setter
    def threads(self, threads: int) -> None:
        threads = _checked_threads(threads)
        with self._lock:
            if threads != self._threads:
                self._runner.set_execution(threads, self._isa)
            self._threads = threads

    @property
    def isa(self) -> str:
        """The instruction set beyond which it uses none; empty: the best of this machine."""
        return self._isa

    # Running.

    def run(self, *values: Any, raw: bool = False, copy: bool = True) -> Any:
        """Runs it on one sample, or on each sample of an array.

        values: an array for each input, in their order; or one dict of arrays by the inputs' names. An array has the
            shape of the input, or one dimension more in front, which counts samples. Float values of an int8 input are
            quantized by its scale. A warning says once where values cannot be meant, as those in 0..1 for a network of 0..255. A uint8 array is a picture of any size, where the network takes pictures.
        raw: int8 outputs stay codes. Without it they are the real numbers that the codes stand for.
        copy: False gives views of the session's memory, of the kind that the session has: the next run changes them.
            Only for one sample.

        With no values the session runs what `input_view` was filled with. Returns an array, or a tuple of them where
        the network has several outputs. Of several samples their first dimension counts them. A network of
        import_onnx(batch=N) takes a picture in each of its N places, and its outputs are those of the first; a sample of
        other values fills all places itself. States go from one sample to the next, and from one call to the next; `reset`
        sets them back.
        """
        arrays = self._arrays(values)
        with self._lock:
            count = len(arrays[0]) if arrays else 1
            if count != 1 and not copy:
                raise ValueError(f"copy=False shows the outputs of one run, and there are {count} samples")
            places = self._runner.equal_places([array.dtype == np.uint8 for array in arrays]) if arrays else 1
            found: List[List[np.ndarray]] = []
            for k in range(count):
                for i, array in enumerate(arrays):
                    self._fill(i, array[k])
                self._runner.run()
                found.append([self._output(i, raw, copy, places) for i in range(len(self.outputs))])
        joined = found[0] if count == 1 else [self._joined([sample[i] for sample in found], self.outputs[i], places)
                                              for i in range(len(self.outputs))]
        return joined[0] if len(joined) == 1 else tuple(joined)

    __call__ = run

    def _features(self, values: Tuple[Any, ...]) -> List[np.ndarray]:
        """Of each sample what the last layer with weights reads, in codes."""
        arrays = self._arrays(values)
        with self._lock:
            found = []
            for k in range(len(arrays[0])):
                for i, array in enumerate(arrays):
                    self._fill(i, array[k])
                found.append(self._runner.features())
        return found

    def _arrays(self, values: Tuple[Any, ...]) -> List[np.ndarray]:
        if not values:
            return []
        if len(values) == 1 and isinstance(values[0], Mapping):
            given = values[0]
            names = [tensor.name for tensor in self.inputs]
            wrong = [name for name in given if name not in names] + [name for name in names if name not in given]
            if wrong:
                raise ValueError(f"{self.name}: {wrong[0]!r} is {'no input' if wrong[0] in given else 'missing'}; its inputs "
                                 f"are {', '.join(names)}")
            values = tuple(given[name] for name in names)
        if len(values) != len(self.inputs):
            raise ValueError(f"{self.name}: has {len(self.inputs)} inputs ({', '.join(t.name for t in self.inputs)}), and "
                             f"{len(values)} arrays were given")
        arrays = [as_samples(value, wanted, tensor.name) for value, wanted, tensor in
                  zip(values, self._wanted(), self.inputs)]
        counts = {len(array) for array in arrays}
        if len(counts) > 1:
            raise ValueError(f"{self.name}: the inputs have {', '.join(str(len(array)) for array in arrays)} samples; give "
                             "each as many")
        return arrays

    def _wanted(self) -> List[Input]:
        return [Input(t.name, t.shape, t.dtype, t.picture, t.scale, t.zero_point) for t in self.inputs]

    def _fill(self, i: int, sample: np.ndarray) -> None:
        tensor = self.inputs[i]
        if sample.dtype == np.uint8:
            self._runner.fill_picture(i, np.ascontiguousarray(sample))
        elif tensor.dtype == "int32":
            low, high = int(sample.min()), int(sample.max())
            if low < -(2**31) or high >= 2**31:
                raise ValueError(f"{tensor.name}: holds {low if low < -(2**31) else high}, and takes numbers of 32 bits")
            np.copyto(self._runner.input(i), sample, casting="unsafe")
        elif tensor.dtype != "float32" and str(sample.dtype) == tensor.dtype:
            np.copyto(self._runner.input(i), sample)
        else:
            wrong = self._runner.fill_values(i, as_values(sample, tensor.name))
            if wrong:
                warn(f"{self.name}: the input {tensor.name!r} was given {wrong}")

    def _output(self, i: int, raw: bool, copy: bool, places: int) -> np.ndarray:
        """Of the first of so many places that hold the same sample."""
        output = self._runner.output(i)
        if copy:
            output = output.copy() if raw or output.dtype in (np.float32, np.int32) else self._runner.real_output(i)
        return output if places == 1 else output[: len(output) // places]

    @staticmethod
    def _joined(arrays: Sequence[np.ndarray], tensor: Tensor, places: int) -> np.ndarray:
        return np.concatenate(arrays) if places > 1 or tensor.shape[:1] == (1,) else np.stack(arrays)

    def input_view(self, i: int = 0) -> np.ndarray:
        """Input `i` in the session's memory, to be written without a copy. Write every input before each run."""
        if not 0 <= i < len(self.inputs):
            raise IndexError(f"{self.name}: has {len(self.inputs)} inputs, and no input {i}")
        return self._runner.input(i)

    def output_view(self, i: int = 0) -> np.ndarray:
        """Output `i` in the session's memory, as the last run left it. The next run changes it."""
        if not 0 <= i < len(self.outputs):
            raise IndexError(f"{self.name}: has {len(self.outputs)} outputs, and no output {i}")
        return self._runner.output(i)

    def reset(self) -> None:
        """Sets the states to their initial values."""
        with self._lock:
            self._runner.reset()

    # Its needs.

    def inspect(self, target: Optional[str] = None, threads: Optional[int] = None, *, ops: bool = False, plan: bool = False,
                quant: bool = False, frame: Optional[str] = None, clock: Optional[float] = None,
                chip: Optional[str] = None) -> Report:
        """What the file holds, and what a session needs: on this machine, with the network's own threads and instruction sets
        unless `threads` is given; or on a target, with one thread unless it is.

        ops: list the nodes. plan: list where each activation lies in the arena, and when. quant: list scales and zero points.
        frame: what a camera's frames of this size and order of pixels need: "640x480:yuyv".
        clock: in megahertz: how long a run takes on the target, a microcontroller, estimated (key `estimate`). chip: with the wait
        states of this chip's flash, such as 'stm32l4r5'.
        """
        if clock is not None and target is None:
            raise ValueError("clock= is a microcontroller's: name it by target=")
        if chip is not None and clock is None:
            raise ValueError("chip= says how long its flash lets a run wait: give clock=")
        own: Dict[str, Any] = {} if target is not None else self._execution()
        if threads is not None:
            own["threads"] = _checked_threads(threads)
        options = {**own, "target": target, "ops": ops, "plan": plan, "quant": quant, "frame": frame, "clock": clock, "chip": chip}
        return Report(_intaglio.inspect(self._runner, options), f"inspect {self.name}")

    def measure(self, target: Optional[str] = None, threads: Optional[int] = None) -> Report:
        """The memory that running it needs, in bytes, exact: on this machine, or on a target such as 'cortex-m4'. Threads as of
        `inspect`."""
        return self.inspect(target, threads)["session"]

    def bench(self, *, repeats: int = 50, threads: Optional[int] = None, isa: Optional[str] = None) -> Report:
        """How long a run takes on this machine, in milliseconds, and each layer.

        repeats: how many runs are timed. threads, isa: the network's own unless given.
        """
        options = self._execution()
        options["repeats"] = repeats
        if threads is not None:
            options["threads"] = _checked_threads(threads)
        if isa is not None:
            options["isa"] = isa
        return Report(_intaglio.bench(self._runner, options), f"bench {self.name}")

    def _execution(self) -> Dict[str, Any]:
        return {"threads": self._threads, "isa": self._isa or None}

    def __repr__(self) -> str:
        ends = [f"{t.name} {'x'.join(map(str, t.shape))} {t.dtype}" for t in self.inputs]
        return f"<intaglio.Network {self.name}: {', '.join(ends)}; {self.node_count} nodes, {len(self)} bytes>"

    def _repr_html_(self) -> str:
        rows = [{"": kind, **tensor._asdict()} for kind, tensors in
                (("input", self.inputs), ("output", self.outputs), ("state", self.states)) for tensor in tensors]
        return f"<p><b>{html.escape(self.name)}</b>: {self.node_count} nodes, {len(self)} bytes</p>" + Table(rows)._repr_html_()


def open(source: Any, *, threads: int = 1, isa: str = "") -> Network:
    """A model file (.itg) by its path, or by its bytes.

    threads: how many work on each layer. isa: no instruction set beyond this one, such as 'avx2'; results are the same.
    """
    if is_path(source):
        path = existing(source)
        if os.path.isdir(path):
            raise IsADirectoryError(f"{path}: is a folder; name a model file")
        with builtins.open(path, "rb") as file:
            return Network(file.read(), path, threads, isa)
    return Network(source, "bytes", threads, isa)
