"""New classes from a few examples: a last layer that is learnt, as a board learns it (docs/deployment.md)."""

from __future__ import annotations

from typing import Any, Optional

import numpy as np

from . import _intaglio
from .network import Network
from .tables import Report


class LastLayer:
    """A layer in the place of an int8 network's own last one, as LastLayerLearner.finish gives it and a board keeps it.

    network: the one that it was learnt with. content: its bytes, the patch of `itg_learner_finish`. Those of another network are refused.
    """

    def __init__(self, network: Network, content: bytes) -> None:
        self._network = network
        self._layer = _intaglio.Layer(network._runner, bytes(content))

    @property
    def classes(self) -> int:
        """How many classes it tells apart."""
        return self._layer.classes

    def __bytes__(self) -> bytes:
        return self._layer.bytes()

    def scores(self, *values: Any) -> np.ndarray:
        """How much each sample speaks for each class: [samples, classes]. values: as Network.run takes them."""
        features = self._network._features(values)
        return np.array([self._layer.scores(row) for row in features], np.float32)

    def classify(self, *values: Any) -> np.ndarray:
        """The class of each sample."""
        return self.scores(*values).argmax(axis=1)


class LastLayerLearner:
    """Collects examples, and learns a last layer from them: the bytes that a board learns from the same ones in the same order.

    network: an int8 one whose last layer with weights reads one vector. classes: 2 to 1024. examples: the most that there will be, in all.

        learner = intaglio.LastLayerLearner(int8, classes=3, examples=60)
        learner.add(x, 0)
        layer = learner.finish()
    """

    report: Optional[Report] = None
    """What the last finish() said: method, kept, held_out, right, right_before."""

    def __init__(self, network: Network, classes: int, examples: int) -> None:
        self._network = network
        self._learner = _intaglio.Learner(network._runner, classes, examples)

    @property
    def needs(self) -> Report:
        """The bytes that a board needs: memory_bytes, and patch_bytes of the layer."""
        return Report(self._learner.needs(), "a last layer's memory", [])

    def add(self, values: Any, of_class: int) -> None:
        """Takes one sample, or each of several, as examples of a class. values: as Network.run takes them."""
        for row in self._network._features((values,)):
            self._learner.add(row, of_class)

    def finish(self, in_use: Optional[LastLayer] = None) -> Optional[LastLayer]:
        """Learns from all examples. Every third one of a class judges. None where `in_use` knows more of these."""
        patch, said = self._learner.finish(None if in_use is None else in_use._layer)
        self.report = Report(said, "a last layer", [])
        return None if patch is None else LastLayer(self._network, patch)
