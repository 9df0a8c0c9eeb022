"""Runs the examples for Linux, and holds what they print to what the command and numpy say.

  check_examples.py COMMAND CLASSIFY FOLDER_OF_EXAMPLES WORK SHARED
"""
import hashlib
import json
import pathlib
import re
import shutil
import struct
import subprocess
import sys

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
# SHA-256 of the features of sound(): every machine gives it.
FEATURES = "10272ba58073225961efdf1ae35420f2da62b8a24bfdd62955fe8b5460f9329d"


def run(*words, code=0):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    if done.returncode != code:
        sys.exit(f"{' '.join(map(str, words))}: exit code {done.returncode}, {code} is expected\n{done.stdout}{done.stderr}")
    return done.stdout if code == 0 else done.stderr


def expect(what, found, expected):
    if found != expected:
        sys.exit(f"{what}: {found!r}, expected is {expected!r}")


def classes(command, model, pictures, work):
    """The command's own answers for uint8 pictures [n, h, w, 3]."""
    np.save(work / "pictures.npy", pictures)
    samples = json.loads(run(command, "run", model, "--input", work / "pictures.npy", "--json"))["samples"]
    return [sample["outputs"][0]["top"][0]["class"] for sample in samples]


def check_pictures(command, classify, examples, work, model):
    frame = np.random.default_rng(1).integers(0, 256, (30, 40, 3), dtype=np.uint8)
    (work / "frame.rgb").write_bytes(frame.tobytes())
    expected = classes(command, model, frame[None], work)[0]
    for program in (classify, examples / "classify_picture"):
        out = run(program, model, work / "frame.rgb", 40, 30)
        expect(program.name, re.match(r"class (\d+), ", out).group(1), str(expected))
    for words, text in (((model, work / "none.rgb", 40, 30), "cannot be read"), ((model, work / "frame.rgb", 40, 31), "frame.rgb: "),
                        ((work / "frame.rgb", work / "frame.rgb", 40, 30), "not an intaglio model"), ((), "give NET.itg")):
        expect("classify_picture", text in run(examples / "classify_picture", *words, code=1), True)


def rgb_of(yuyv, height, width):
    pairs = yuyv.reshape(height, width // 2, 4).astype(np.int32)
    y = pairs[..., [0, 2]].reshape(height, width)
    u, v = (np.repeat(pairs[..., i], 2, axis=1) - 128 for i in (1, 3))
    c = 298 * (y - 16) + 128
    return np.clip(np.stack([c + 409 * v, c - 100 * u - 208 * v, c + 516 * u], axis=-1) >> 8, 0, 255).astype(np.uint8)


def nv12_of(yuyv, height, width):
    """Frames with the chroma of every second row, and the YUYV that has the same pixels."""
    pairs = yuyv.reshape(height // 2, 2, width // 2, 4).copy()
    pairs[:, 1, :, 1::2] = pairs[:, 0, :, 1::2]
    return np.concatenate([pairs[..., ::2].ravel(), pairs[:, 0, :, 1::2].ravel()]), pairs.ravel()


def check_camera(command, examples, work, model):
    height, width, count = 48, 64, 5
    frames = np.random.default_rng(2).integers(0, 256, (count, height * width * 2), dtype=np.uint8)
    (work / "frames.yuyv").write_bytes(frames.tobytes())
    expected = classes(command, model, np.stack([rgb_of(frame, height, width) for frame in frames]), work)
    out = run(examples / "camera_loop", model, work / "frames.yuyv", width, height)
    expect("camera_loop", [int(found) for found in re.findall(r"frame \d+: class (\d+), [\d.]+ ms", out)], expected)
    planes = [nv12_of(frame, height, width) for frame in frames]
    (work / "frames.nv12").write_bytes(np.concatenate([plane for plane, _ in planes]).tobytes())
    expected = classes(command, model, np.stack([rgb_of(same, height, width) for _, same in planes]), work)
    out = run(examples / "camera_loop", model, work / "frames.nv12", width, height, "nv12")
    expect("camera_loop", [int(found) for found in re.findall(r"frame \d+: class (\d+), [\d.]+ ms", out)], expected)
    for words, text in (((model, work / "frames.yuyv", width, height + 1), "no multiple"), ((model, work / "frames.yuyv", 0, 48), "a width"),
                        ((model, work / "frames.yuyv", width, height, "yuv"), "no order of pixels"),
                        ((model, "/dev/null", 1), "/dev/null: "), ((), "give NET.itg")):
        expect("camera_loop", text in run(examples / "camera_loop", *words, code=1), True)


def check_calibration(command, examples, work, model):
    """A board's frames give the file that the build machine makes of the same pictures."""
    height, width, count = 48, 64, 6
    frames = np.random.default_rng(3).integers(0, 256, (count, height * width * 2), dtype=np.uint8)
    (work / "seen.yuyv").write_bytes(frames.tobytes())
    np.save(work / "seen.npy", np.stack([rgb_of(frame, height, width) for frame in frames[:5]]))
    run(command, "calibrate", model, "--images", work / "seen.npy", "-o", work / "by_command.itg")
    out = run(examples / "camera_calibration", model, work / "by_frames.itg", 5, work / "seen.yuyv", width, height)
    expect("camera_calibration", out, f"{work / 'by_frames.itg'}: calibrated from 5 frames\n")
    expect("camera_calibration", (work / "by_frames.itg").read_bytes() == (work / "by_command.itg").read_bytes(), True)
    for words, text in (((model, work / "x.itg", 0, "/dev/null"), "the number of frames"), ((model, work / "x.itg", 5, "/dev/null"), "/dev/null: "),
                        ((work / "by_frames.itg", work / "x.itg", 5, work / "seen.yuyv", width, height), "FP32")):
        expect("camera_calibration", text in run(examples / "camera_calibration", *words, code=1), True)
    expect("camera_calibration", (work / "x.itg").exists(), False)


def check_update(examples, work, old, new):
    program, chip = examples / "model_update", work / "chip.bin"
    run(program, chip, "show", code=1)
    first = run(program, chip, "store", old)
    expect("model_update", first.startswith(f"slot 0: {old.stat().st_size} bytes, "), True)
    # Power fails at each of these: the old model stays, and the next try succeeds.
    units = new.stat().st_size // 16
    for cut in (0, 1, 4, units // 2, units, units + 1):
        expect("model_update", "the model in use is what it was" in run(program, chip, "store", new, "--cut", cut, code=1), True)
        expect("model_update", run(program, chip, "show"), first)
    second = run(program, chip, "store", new)
    expect("model_update", second.startswith(f"slot 1: {new.stat().st_size} bytes, "), True)
    expect("model_update", run(program, chip, "show"), second)
    expect("model_update", "not an intaglio model" in run(program, chip, "store", ROOT / "README.md", code=1), True)
    # A file that is no chip stays as it is.
    (work / "notes.txt").write_text("not a chip")
    expect("model_update", "not the two slots of a chip" in run(program, work / "notes.txt", "store", new, code=1), True)
    expect("model_update", (work / "notes.txt").read_text(), "not a chip")
    for words, text in (((chip, "store", work), "Is a directory"), ((chip, "store", new, "--cut", "x"), "a number of units")):
        expect("model_update", text in run(program, *words, code=1), True)
    expect("model_update", run(program, chip, "show"), second)


def check_signed(examples, work, command, fp32, model):
    program, chip, key = examples / "signed_update", work / "signed.bin", work / "publisher"
    if not program.exists():
        print("skipped: examples/signed_update, which libsodium-dev builds (scripts/setup installs it)")
        return
    run(program, "key", key)
    run(program, "key", work / "other")
    signed = work / "net.signed"
    run(program, "sign", f"{key}.key", model, signed)
    first = run(program, chip, f"{key}.pub", "store", signed)
    expect("signed_update", first.startswith(f"slot 0: {model.stat().st_size} bytes, "), True)
    # Any bit of it changed, cut short, without a signature, another's: refused, and the first one stays.
    whole = signed.read_bytes()
    for i, wrong in enumerate([bytes([whole[0] ^ 1]) + whole[1:], whole[:-1], whole[:-70] + bytes([whole[-70] ^ 128]) + whole[-69:],
                               whole[:-1] + bytes([whole[-1] ^ 1]), model.read_bytes(), b""]):
        (work / "wrong").write_bytes(wrong)
        expect(f"signed_update {i}", "signature is not good" in run(program, chip, f"{key}.pub", "store", work / "wrong", code=1), True)
    expect("signed_update", "no slot holds a model" in run(program, chip, work / "other.pub", "show", code=1), True)
    expect("signed_update", run(program, chip, f"{key}.pub", "show"), first)
    # Ceilings: the first is the need itself, and what takes a byte more is refused with both figures.
    need = int(re.search(r"a session takes (\d+) bytes", first).group(1))

    def store(path, ceiling, code=0):
        run(command, "plan", path, "-o", work / "bounded.itg", "--memory", "flat", "--ceiling", ceiling)
        run(program, "sign", f"{key}.key", work / "bounded.itg", signed)
        return run(program, chip, f"{key}.pub", "store", signed, code=code)

    expect("ceiling", f"takes {need} bytes of memory, and the model's ceiling is {need - 1}" in store(model, need - 1, code=1), True)
    bounded = store(model, need)
    expect("ceiling", bounded.endswith(f"a session takes {need} bytes of {need}\n"), True)
    for ceiling in (0, need + 1):
        expect("ceiling", f"is {ceiling} bytes (0: none), and that of the model in use {need}" in store(model, ceiling, code=1), True)
    expect("ceiling", re.search(rf"takes \d+ bytes of memory, and the model's ceiling is {need}\n", store(fp32, 10**6, code=1)) is not None, True)
    expect("ceiling", run(program, chip, f"{key}.pub", "show"), bounded)


def sound(seconds=1.5, rate=16000):
    """Tones that come and go, and noise; made of integers, so that it is the same everywhere."""
    t = np.arange(int(seconds * rate), dtype=np.int64)
    saw = (t * 440 * 65536 // rate) % 65536 - 32768
    square = np.where((t * 1250 // rate) % 2 == 0, 9000, -9000)
    noise = (t * 1103515245 + 12345) // 65536 % 4096 - 2048
    return np.clip(saw * (t % 8000) // 20000 + square * (t // 4000 % 2) + noise, -32768, 32767).astype("<i2")


def wav(samples, rate=16000, channels=1, bits=16):
    data = samples.tobytes()
    layout = struct.pack("<HHIIHH", 1, channels, rate, rate * channels * bits // 8, channels * bits // 8, bits)
    extra = b"LIST" + struct.pack("<I", 3) + b"abc\0"
    body = b"WAVE" + b"fmt " + struct.pack("<I", len(layout)) + layout + extra + b"data" + struct.pack("<I", len(data)) + data
    return b"RIFF" + struct.pack("<I", len(body)) + body


def reference(samples):
    """The same features by numpy's FFT, sines and logarithms."""
    x = samples.astype(np.float64) / 32768
    frames = np.stack([x[t * 320:t * 320 + 480] for t in range((len(x) - 480) // 320 + 1)])
    hann = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(480) / 480)
    spectrum = np.abs(np.fft.rfft(frames * hann, 512))
    mel = lambda hertz: 1127 * np.log1p(np.asarray(hertz) / 700)
    edges, bins = np.linspace(mel(20.0), mel(4000.0), 42), mel(np.arange(257) * 16000 / 512)
    up = (bins[:, None] - edges[:-2]) / (edges[1:-1] - edges[:-2])
    down = (edges[2:] - bins[:, None]) / (edges[2:] - edges[1:-1])
    weights = np.maximum(0, np.minimum(up, down))
    weights[0] = 0
    logs = np.log(spectrum @ weights + 1e-6)
    cosines = np.cos(np.pi * np.outer(np.arange(10), np.arange(40) + 0.5) / 40)
    return logs @ (2 * cosines.T) / np.sqrt(2 * 40)


def check_sound(command, examples, work, shared, model):
    program, samples = examples / "keyword_spotting", sound()
    (work / "sound.wav").write_bytes(wav(samples))
    (work / "short.wav").write_bytes(wav(samples[:4000]))
    run(program, "--features", work / "x.npy", work / "sound.wav", work / "short.wav")
    expect("keyword_spotting", "give NET.itg" in run(program, "--features", work / "x.npy", code=1), True)
    features = np.load(work / "x.npy")
    expect("features", features.shape, (3, 49, 10, 1))
    whole = reference(samples)
    expected = np.stack([whole[:49], whole[25:74], reference(np.concatenate([samples[:4000], np.zeros(11840, "<i2")]))])[..., None]
    difference = np.abs(features - expected).max()
    expect("features beside numpy's", bool(difference < 2e-5), True)
    print(f"features differ from numpy's by {difference:.1e} at most")
    expect("the features' digest", hashlib.sha256(features.tobytes()).hexdigest(), FEATURES)
    for bad, text in ((wav(samples, rate=8000), "16000 Hz"), (wav(samples, channels=2), "one channel"), (b"RIFFxxxxWAVE", "no samples"),
                      (wav(samples)[:-1], "cut off"), (b"abc", "no WAV file")):
        (work / "bad.wav").write_bytes(bad)
        expect("keyword_spotting", text in run(program, "--features", work / "y.npy", work / "bad.wav", code=1), True)
    # Another network: its input is named before the recording is read.
    expect("keyword_spotting", "takes 2352 values, the features have 490" in run(program, model, work / "bad.wav", code=1), True)
    # OUT.npy forgotten.
    recording = (work / "sound.wav").read_bytes()
    expect("keyword_spotting", "give OUT.npy" in run(program, "--features", work / "sound.wav", work / "short.wav", code=1), True)
    expect("keyword_spotting", (work / "sound.wav").read_bytes() == recording, True)
    network = shared / "models/kws_fp32.tflite"
    if not network.is_file():
        print("no published keyword network is here; only the features are checked")
        return
    run(command, "import", network, "-o", work / "kws.itg")
    run(command, "calibrate", work / "kws.itg", "--images", work / "x.npy", "-o", work / "kws.int8.itg")
    (work / "names.txt").write_text("".join(f"word {i}\n" for i in range(12)))
    for model in (work / "kws.itg", work / "kws.int8.itg"):
        samples_said = json.loads(run(command, "run", model, "--input", work / "x.npy", "--json"))["samples"]
        said = [sample["outputs"][0]["top"][0]["class"] for sample in samples_said]
        expect("keyword_spotting", "no WAV file" in run(program, model, work / "bad.wav", code=1), True)
        out = run(program, model, work / "sound.wav", work / "names.txt")
        expect("keyword_spotting", out.splitlines(), [f"0.00 s: word {said[0]}", f"0.50 s: word {said[1]}"])


def main():
    command, classify, examples, work, shared = map(pathlib.Path, sys.argv[1:])
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    old, new = work / "meter.itg", work / "meter.int8.itg"
    run(command, "import", ROOT / "demo/meter.onnx", "-o", old, "--pixels", "-1..1")
    run(command, "calibrate", old, "--images", ROOT / "demo/calibration", "-o", new)
    for model in (old, new):
        check_pictures(command, classify, examples, work, model)
        check_camera(command, examples, work, model)
    check_calibration(command, examples, work, old)
    check_update(examples, work, new, old)
    check_signed(examples, work, command, old, new)
    check_sound(command, examples, work, shared, old)
    return 0


if __name__ == "__main__":
    sys.exit(main())
