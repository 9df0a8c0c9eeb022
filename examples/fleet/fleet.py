#!/usr/bin/env python3
"""Ten devices under qemu-system-arm with four pictures each become one int8 model: that of one calibration over all forty.

  fleet.py --intaglio COMMAND --device fleet_device.elf --work FOLDER [--devices 10]

The pictures stay in each device's flash. Over its serial line comes a state, in pieces of 256 bytes that are checked and asked again. The host
merges the states, makes the model, and sends it to each device, which stores it in two slots and runs it.

On the way, the first device's line damages bytes in both directions, the second is reset while it sends its state, the third while it gets
the model, and the fourth loses its power while it writes flash.
"""
import argparse
import binascii
import hashlib
import pathlib
import select
import signal
import socket
import struct
import subprocess
import sys
import time
import zlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
PIECE, PICTURES = 256, 4
FLASH, PICTURES_AT = 0x21000000, 0x21100000
BEGIN = b"\xa5\x5a"
GOOD, DAMAGED, REFUSED = 0, 1, 2


def pixels_of(path):
    """(width, height, red, green and blue of each pixel) of a PNG of 8 bits a channel."""
    data, at, packed = path.read_bytes(), 8, b""
    while at < len(data):
        size, kind = struct.unpack_from(">I4s", data, at)
        body = data[at + 8:at + 8 + size]
        if kind == b"IHDR":
            width, height = struct.unpack_from(">II", body)
            assert body[8:] == bytes([8, 2, 0, 0, 0]), path
        packed += body if kind == b"IDAT" else b""
        at += 12 + size
    raw, row, before, pixels = zlib.decompress(packed), 3 * width, bytes(3 * width), b""
    for y in range(height):
        kind, line = raw[y * (row + 1)], bytearray(raw[y * (row + 1) + 1:(y + 1) * (row + 1)])
        for i in range(row):
            left, above, corner = (line[i - 3], before[i], before[i - 3]) if i >= 3 else (0, before[i], 0)
            guess = left + above - corner
            near = min((abs(guess - left), 0, left), (abs(guess - above), 1, above), (abs(guess - corner), 2, corner))[2]
            line[i] = (line[i] + (0, left, above, (left + above) // 2, near)[kind]) % 256
        before = bytes(line)
        pixels += before
    return width, height, pixels


class Device:
    """One board, with its pictures in flash, and its serial line."""

    def __init__(self, elf, network, pictures, work):
        self.number, self.resets, self.bytes, self.again = 0, 0, 0, 0
        self.damage = 0  # every so many messages
        for path, data in ((work / "network.bin", network), (work / "pictures.bin", pictures)):
            path.write_bytes(struct.pack("<I60x", len(data)) + data)
        self.line, theirs = socket.socketpair()
        self.board = subprocess.Popen(
            ["qemu-system-arm", "-M", "mps2-an386", "-display", "none", "-monitor", "none", "-semihosting-config", "enable=on,target=native",
             "-chardev", f"socket,id=line,fd={theirs.fileno()}", "-serial", "chardev:line",
             "-device", f"loader,file={work / 'network.bin'},addr={FLASH:#x},force-raw=on",
             "-device", f"loader,file={work / 'pictures.bin'},addr={PICTURES_AT:#x},force-raw=on", "-kernel", str(elf)],
            pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        theirs.close()
        self.come = b""

    def send(self, command, data=b""):
        self.number = (self.number + 1) % 256
        head = struct.pack("<HcB", len(data), command, self.number)
        message = bytearray(BEGIN + head + data + struct.pack("<I", binascii.crc32(head + data)))
        if self.damage and self.number % self.damage == 0:
            message[6 if data else -1] ^= 0x10
        self.line.sendall(message)

    def answer(self, seconds):
        """(how, bytes) of the answer to what was sent last; None where none comes, or a damaged one."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if select.select([self.line], [], [], 0.05)[0]:
                try:
                    new = self.line.recv(65536)
                except ConnectionError:
                    new = b""
                if not new:
                    self.board.wait()
                    sys.exit(f"the board ended: {self.board.stdout.read().decode()}")
                self.come += new
            while (found := self.message()) is not None:
                right, how, number, data = found
                if not right or how == DAMAGED:
                    return None
                if number == self.number:
                    return how, data
        return None

    def message(self):
        """The next whole message of what has come: (whether its CRC is right, how, number, bytes)."""
        at = self.come.find(BEGIN)
        if at < 0 or len(self.come) < at + 6:
            return None
        size, how, number = struct.unpack_from("<HBB", self.come, at + 2)
        end = at + 6 + size
        if len(self.come) < end + 4:
            return None
        whole, crc, self.come = bytearray(self.come[at + 2:end]), self.come[end:end + 4], self.come[end + 4:]
        self.bytes += end + 4 - at
        if self.damage and number % self.damage == 1:
            whole[-1] ^= 0x10
        return struct.pack("<I", binascii.crc32(whole)) == crc, how, number, bytes(whole[4:])

    def ask(self, command, data=b""):
        for _ in range(100):
            self.send(command, data)
            found = self.answer(2)
            if found is not None and found[0] != DAMAGED:
                return found
            self.again += 1
        sys.exit(f"the board does not answer {command}")

    def reset(self):
        self.send(b"x")
        self.resets += 1
        time.sleep(0.1)

    def close(self):
        """What the board has said besides."""
        self.board.kill()
        self.line.close()
        return self.board.communicate()[0].decode()


def state_of(device, resets_at=None):
    state = b""
    while True:
        if resets_at is not None and len(state) >= resets_at:
            device.reset()
            resets_at = None
        _, piece = device.ask(b"s", struct.pack("<II", len(state), PIECE))
        state += piece
        if len(piece) < PIECE:
            return state


def give(device, model, resets_at=None):
    """The model into the device's inbox, from where it stands."""
    begin = struct.pack("<II", len(model), binascii.crc32(model))
    _, arrived = device.ask(b"b", begin)
    at = struct.unpack("<I", arrived)[0]
    while at < len(model):
        if resets_at is not None and at >= resets_at:
            device.reset()
            resets_at = None
            _, arrived = device.ask(b"b", begin)
            if struct.unpack("<I", arrived)[0] != at:
                sys.exit("a reset has lost what had come of the model")
        how, _ = device.ask(b"m", struct.pack("<I", at) + model[at:at + PIECE])
        if how == GOOD:
            at += len(model[at:at + PIECE])
        else:  # it has come already, and its answer was lost
            at = struct.unpack("<I", device.ask(b"b", begin)[1])[0]


def store(device, cut_after=None):
    if cut_after is not None:
        device.send(b"c", struct.pack("<I", cut_after))
        device.resets += 1
        if device.ask(b"r")[0] != REFUSED:
            sys.exit("power failed while a model was written, and half of it counts")
        device.reset()  # what ran has taken the calibrator's memory
    if device.ask(b"c", struct.pack("<I", 0xffffffff))[0] != GOOD:
        sys.exit("a device does not store the model")


def main():
    parser = argparse.ArgumentParser()
    for name in ("--intaglio", "--device", "--work"):
        parser.add_argument(name, type=pathlib.Path, required=True)
    parser.add_argument("--devices", type=int, default=10)
    arguments = parser.parse_args()
    work = arguments.work
    work.mkdir(parents=True, exist_ok=True)

    def intaglio(*words):
        return subprocess.run([arguments.intaglio, *words], check=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE).stdout

    network = work / "net.itg"
    intaglio("import", ROOT / "demo/meter.onnx", "-o", network, "--mean", "127.5", "--norm", "0.00784313725490196")
    frames = work / "frames"
    frames.mkdir(exist_ok=True)
    for earlier in frames.iterdir():
        earlier.unlink()
    flash = []
    for i in range(arguments.devices):
        pictures = [pixels_of(ROOT / f"demo/test/digit_{PICTURES * i + k + 1:04}.png") for k in range(PICTURES)]
        flash.append(struct.pack("<II", *pictures[0][:2]) + b"".join(pixels for _, _, pixels in pictures))
        (frames / f"{i}.rgb").write_bytes(flash[i][8:])
    width, height = struct.unpack_from("<II", flash[0])
    alone = work / "alone.itg"
    intaglio("calibrate", network, "--images", frames, "--frame", f"{width}x{height}:rgb", "--profile", "device", "-o", alone)

    fleet, states = [], []
    for i, pictures in enumerate(flash):
        fleet.append(Device(arguments.device, network.read_bytes(), pictures, work))
        fleet[0].damage = 7
        state = state_of(fleet[i], resets_at=5 * PIECE if i == 1 else None)
        states.append(work / f"{i}.itgcal")
        states[i].write_bytes(state)
        print(f"device {i}: a state of {len(state):,} bytes, {fleet[i].bytes:,} over the line, {fleet[i].again} asked again", flush=True)
        fleet[i].board.send_signal(signal.SIGSTOP)  # it waits while the others speak
    merged, model = work / "all.itgcal", work / "fleet.itg"
    intaglio("merge", *states, "-o", merged)
    intaglio("calibrate", network, "--from", merged, "--profile", "device", "-o", model)
    if model.read_bytes() != alone.read_bytes():
        sys.exit("the fleet's model is not that of all pictures at once")

    answers = set()
    for i, device in enumerate(fleet):
        device.board.send_signal(signal.SIGCONT)
        give(device, model.read_bytes(), resets_at=3 * PIECE if i == 2 % len(fleet) else None)
        store(device, cut_after=100 if i == 3 % len(fleet) else None)
        how, found = device.ask(b"r")
        size, crc = struct.unpack("<II", found)
        if how != GOOD or size != model.stat().st_size:
            sys.exit(f"device {i} does not run the model")
        answers.add(crc)
        said = device.close()
    print(said.splitlines()[0])
    print(f"{len(fleet)} devices, {PICTURES * len(fleet)} pictures: {hashlib.sha256(model.read_bytes()).hexdigest()}, "
          f"{sum(d.resets for d in fleet)} resets")


if __name__ == "__main__":
    main()
