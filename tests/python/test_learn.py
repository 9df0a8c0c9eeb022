"""A last layer learnt in Python: classes that are told apart, the bytes of a layer, and what is refused."""

import numpy as np
import pytest

import intaglio


def examples_of(network, count, seed):
    """Two kinds of pictures, dark and bright, with noise."""
    random = np.random.default_rng(seed)
    shape = (count, *network.inputs[0].shape[1:])
    return tuple(random.integers(level, level + 40, shape, np.uint8) for level in (10, 200))


def test_two_classes_are_learnt_and_kept(int8):
    learner = intaglio.LastLayerLearner(int8, classes=2, examples=20)
    for of_class, values in enumerate(examples_of(int8, 6, 1)):
        learner.add(values, of_class)
    layer = learner.finish()
    assert layer is not None and layer.classes == 2
    assert learner.report["held_out"] == 4 and learner.report["right"] == 4 and learner.report["kept"]
    assert len(bytes(layer)) == learner.needs["patch_bytes"]
    for of_class, values in enumerate(examples_of(int8, 5, 2)):
        np.testing.assert_array_equal(layer.classify(values), of_class)
    again = intaglio.LastLayer(int8, bytes(layer))
    dark, _ = examples_of(int8, 3, 3)
    np.testing.assert_array_equal(again.scores(dark), layer.scores(dark))
    # One that knows less is not kept beside it.
    worse = intaglio.LastLayerLearner(int8, classes=2, examples=20)
    for of_class, values in enumerate(examples_of(int8, 6, 1)):
        worse.add(values[:3], of_class)
        worse.add(values[3:], 1 - of_class)
    assert worse.finish(in_use=layer) is None or worse.report["right"] >= worse.report["right_before"]


def test_what_is_refused(int8, net):
    with pytest.raises(intaglio.Error):
        intaglio.LastLayerLearner(net, classes=2, examples=4)  # FP32
    with pytest.raises(intaglio.Error):
        intaglio.LastLayerLearner(int8, classes=1, examples=4)
    learner = intaglio.LastLayerLearner(int8, classes=2, examples=2)
    dark, bright = examples_of(int8, 1, 1)
    with pytest.raises(intaglio.Error):
        learner.add(dark, 2)
    learner.add(dark, 0)
    with pytest.raises(intaglio.Error):
        learner.finish()  # a class without an example
    learner.add(bright, 1)
    with pytest.raises(intaglio.Error):
        learner.add(bright, 1)
    layer = learner.finish()
    assert layer is not None and learner.report["held_out"] == 0
    damaged = bytearray(bytes(layer))
    damaged[-1] ^= 1
    with pytest.raises(intaglio.Error):
        intaglio.LastLayer(int8, bytes(damaged))
