"""One network in one peer, inside the emulated AArch64 user land that benchmarks/peers/arm makes.

  arm_guest.py PEER MODEL RUNS [SHAPE...]    PEER: litert, onnxruntime, mnn; ncnn, whose model is the stem of its files and says no shape

Each system call getppid is a mark for instruction_plugin.c: before each run, and after the last one.
"""
import os
import sys

import numpy


def filled(shape, dtype):
    random = numpy.random.default_rng(1)
    if numpy.issubdtype(dtype, numpy.floating):
        return random.standard_normal(shape).astype(dtype)
    limits = numpy.iinfo(dtype)
    return random.integers(limits.min, limits.max + 1, shape).astype(dtype)


def litert(path):
    from ai_edge_litert.interpreter import Interpreter
    interpreter = Interpreter(model_path=path, num_threads=1)
    interpreter.allocate_tensors()
    for feed in interpreter.get_input_details():
        interpreter.set_tensor(feed["index"], filled(feed["shape"], feed["dtype"]))
    return interpreter.invoke


def onnxruntime(path):
    import onnxruntime as peer
    options = peer.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    session = peer.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    binding = session.io_binding()
    values = []  # must outlive the binding
    for feed in session.get_inputs():
        shape = [d if isinstance(d, int) and d > 0 else 1 for d in feed.shape]
        dtype = {"tensor(float)": numpy.float32, "tensor(int8)": numpy.int8, "tensor(uint8)": numpy.uint8}[feed.type]
        values.append(peer.OrtValue.ortvalue_from_numpy(filled(shape, dtype)))
        binding.bind_ortvalue_input(feed.name, values[-1])
    for output in session.get_outputs():
        binding.bind_output(output.name)

    def run():
        assert values
        session.run_with_iobinding(binding)
    return run


def ncnn(stem, *shape):
    import pathlib

    import mobile_peers
    return mobile_peers.ncnn_session(pathlib.Path(stem), shape, 1)


def mnn(path):
    import mobile_peers
    return mobile_peers.mnn_session(path, 1)


def main():
    peer, path, runs, shape = sys.argv[1], sys.argv[2], int(sys.argv[3]), [int(word) for word in sys.argv[4:]]
    run = {"litert": litert, "onnxruntime": onnxruntime, "ncnn": ncnn, "mnn": mnn}[peer](path, *shape)
    for _ in range(runs):
        os.getppid()
        run()
    os.getppid()


if __name__ == "__main__":
    main()
