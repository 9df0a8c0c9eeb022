#!/usr/bin/env python3
"""Renders single digits as a camera sees them on the drums of a utility meter.

Every picture depends on (seed, index) alone, so a set can be rendered again
picture by picture. Glyphs are own vector strokes: no installed font matters.
"""
import argparse
import pathlib

import numpy as np
from PIL import Image, ImageDraw, ImageFilter

SIZE = 28          # side of a finished picture in pixels
SCALE = 4          # supersampling while drawing
SIDE = SIZE * SCALE
CLASSES = 10

# One seed per set keeps the sets disjoint.
SEEDS = {"train": 1, "validation": 2, "calibration": 3, "test": 4}
COMMITTED = {"calibration": 16, "test": 400}

# (superellipse exponent of the bowls, width / height, stroke / height, alternate forms)
FONTS = (
    (2.0, 0.62, 0.13, False),
    (2.4, 0.52, 0.17, True),
    (3.2, 0.50, 0.12, False),
    (4.0, 0.58, 0.15, True),
    (2.0, 0.48, 0.09, True),
)

# (drum, ink, probability); red marks the drum of the decimal place.
PALETTES = (
    ((28, 28, 30), (235, 233, 225), 0.40),
    ((225, 222, 210), (30, 28, 28), 0.25),
    ((165, 30, 32), (238, 230, 222), 0.20),
    ((222, 216, 205), (175, 35, 35), 0.15),
)


def bowl(exponent, cx, cy, rx, ry, start, stop):
    """Points of a superellipse arc; degrees run clockwise from the right."""
    angle = np.radians(np.linspace(start, stop, 48))
    cos, sin = np.cos(angle), np.sin(angle)
    power = 2.0 / exponent
    x = cx + rx * np.sign(cos) * np.abs(cos) ** power
    y = cy + ry * np.sign(sin) * np.abs(sin) ** power
    return list(zip(x, y))


def strokes(digit, exponent, alternate):
    """Polylines of one digit in the unit square, y downwards."""
    def arc(*args):
        return bowl(exponent, *args)

    if digit == 0:
        return [arc(.5, .5, .5, .5, 0, 360)]
    if digit == 1:
        foot = [[(.2, 1), (.8, 1)]] if alternate else []
        return [[(.22, .22), (.52, 0), (.52, 1)]] + foot
    if digit == 2:
        return [arc(.5, .3, .47, .3, 190, 385) + [(.04, 1), (.98, 1)]]
    if digit == 3 and alternate:
        return [[(.06, 0), (.92, 0), (.45, .4)] + arc(.45, .7, .5, .3, 270, 520)]
    if digit == 3:
        return [arc(.47, .25, .43, .25, 205, 450), arc(.47, .74, .5, .26, 270, 515)]
    if digit == 4 and alternate:
        return [[(.4, 0), (.03, .7), (1, .7)], [(.72, .38), (.72, 1)]]
    if digit == 4:
        return [[(.7, 1), (.7, 0), (.02, .7), (1, .7)]]
    if digit == 5:
        return [[(.9, 0), (.14, 0), (.08, .46)] + arc(.46, .68, .52, .32, 225, 515)]
    if digit == 6:
        return six(arc, alternate)
    if digit == 7:
        serif = [(.05, .14)] if alternate else []
        return [serif + [(.05, 0), (.97, 0), (.35, 1)]]
    if digit == 8:
        return [arc(.5, .24, .42, .24, 0, 360), arc(.5, .74, .5, .26, 0, 360)]
    return [[(1 - x, 1 - y) for x, y in line] for line in six(arc, alternate)]


def six(arc, straight):
    """A closed bowl with a straight or a curled stem; nine is its half turn."""
    stem = [(.72, 0), (.08, .56)] if straight else arc(.5, .4, .5, .4, 325, 180) + [(0, .68)]
    return [arc(.5, .68, .5, .32, 0, 360), stem]


def draw_digit(draw, digit, font, centre, height):
    exponent, aspect, weight, alternate = font
    pen = max(2, round(weight * height))
    tall, wide = height - pen, height * aspect - pen
    for line in strokes(digit, exponent, alternate):
        points = [(centre[0] + (x - .5) * wide, centre[1] + (y - .5) * tall) for x, y in line]
        draw.line(points, fill=255, width=pen)
        for x, y in points:   # round joints and caps
            draw.ellipse((x - pen / 2, y - pen / 2, x + pen / 2, y + pen / 2), fill=255)


def random_font(rng):
    exponent, aspect, weight, alternate = FONTS[rng.integers(len(FONTS))]
    return (exponent, aspect * rng.uniform(.9, 1.1), weight * rng.uniform(.85, 1.2), alternate)


def random_roll(rng):
    """Offset in digit pitches; beyond half a pitch the neighbour would be the label."""
    return rng.normal(0, .04) if rng.random() < .6 else rng.uniform(-.4, .4)


def ink_mask(rng, digit):
    """The unrolled drum: the digit, its successor below and predecessor above."""
    mask = Image.new("L", (SIDE, 2 * SIDE))
    draw = ImageDraw.Draw(mask)
    font = random_font(rng)
    height = SIDE * rng.uniform(.58, .76)
    pitch = height * rng.uniform(1.2, 1.5)
    roll = random_roll(rng)
    x = SIDE * (.5 + rng.normal(0, .025))
    for step in (-1, 0, 1):
        centre = (x, SIDE + (roll + step) * pitch)
        draw_digit(draw, (digit + step) % CLASSES, font, centre, height)
    return mask


def smooth_noise(rng, cells, shape):
    """Random field in 0..1 with about `cells` features per side."""
    coarse = Image.fromarray(rng.integers(0, 256, (cells, cells), dtype=np.uint8))
    field = coarse.resize((shape[1], shape[0]), Image.Resampling.BICUBIC)
    return np.asarray(field, np.float32) / 255


def wear(rng, ink):
    """Rubs ink off in blotches and along scratches."""
    amount = rng.beta(1.2, 4)
    field = smooth_noise(rng, int(rng.integers(6, 20)), ink.shape)
    ink = ink * (1 - amount * np.clip((field - .5) * 4, 0, 1))
    scratches = Image.new("L", ink.shape[::-1])
    draw = ImageDraw.Draw(scratches)
    for _ in range(rng.poisson(1.2)):
        ends = rng.uniform(0, [ink.shape[1], ink.shape[0]], (2, 2))
        draw.line([tuple(end) for end in ends], fill=200, width=int(rng.integers(1, 4)))
    return ink * (1 - np.asarray(scratches, np.float32) / 255)


def pick_palette(rng):
    index = rng.choice(len(PALETTES), p=[entry[2] for entry in PALETTES])
    drum, ink, _ = PALETTES[index]
    return [np.clip(np.array(c) + rng.normal(0, 10, 3), 0, 255) for c in (drum, ink)]


def wrap_on_drum(rng, flat):
    """Projects the unrolled drum on the picture plane and shades its curvature."""
    radius = SIDE * rng.uniform(.62, 1.1)
    y = np.arange(SIDE) - (SIDE - 1) / 2
    angle = np.arcsin(y / radius)
    rows = np.clip(np.rint(SIDE + radius * angle), 0, 2 * SIDE - 1).astype(int)
    shade = np.cos(angle) ** rng.uniform(.3, 1.2)
    return flat[rows] * shade[:, None, None]


def add_window(rng, picture):
    """Frame of the counter window and the gaps between neighbouring drums."""
    left, top, right, bottom = (rng.uniform(-.05, .09, 4) * SIDE).astype(int)
    frame = rng.uniform(5, 90) * np.ones(3) + rng.normal(0, 4, 3)
    picture[:max(top, 0)] = frame
    picture[SIDE - max(bottom, 0):] = frame
    picture[:, :max(left, 0)] *= rng.uniform(.1, .5)
    picture[:, SIDE - max(right, 0):] *= rng.uniform(.1, .5)
    return picture


def add_dirt(rng, picture):
    spots = Image.new("L", (SIDE, SIDE))
    draw = ImageDraw.Draw(spots)
    for _ in range(rng.poisson(3)):
        x, y = rng.uniform(0, SIDE, 2)
        rx, ry = rng.gamma(2, 2, 2) + 1
        draw.ellipse((x - rx, y - ry, x + rx, y + ry), fill=int(rng.integers(60, 230)))
    spots = np.asarray(spots.filter(ImageFilter.GaussianBlur(2)), np.float32) / 255
    film = rng.uniform(0, .35) * smooth_noise(rng, 5, spots.shape)
    cover = np.maximum(spots, film)[..., None]
    return picture * (1 - cover) + np.array([88, 76, 60]) * rng.uniform(.4, 1.2) * cover


def perspective_coefficients(source, target):
    """Coefficients with which Pillow maps output corners `target` back to `source`."""
    rows, values = [], []
    for (u, v), (x, y) in zip(source, target):
        rows += [[x, y, 1, 0, 0, 0, -u * x, -u * y], [0, 0, 0, x, y, 1, -v * x, -v * y]]
        values += [u, v]
    return np.linalg.solve(np.array(rows), np.array(values))


def tilt(rng, picture):
    """Camera not square to the window: rotation, shift, zoom and perspective."""
    corners = np.array([(-1, -1), (1, -1), (1, 1), (-1, 1)]) * SIDE / 2
    angle = np.radians(rng.normal(0, 5))
    rotation = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    target = corners @ rotation * rng.uniform(.92, 1.12)
    target = target + rng.normal(0, .03 * SIDE, 2) + rng.normal(0, .035 * SIDE, (4, 2))
    # Edge replication stands for the surroundings that the drawing does not hold.
    margin = SIDE // 4
    padded = np.pad(picture, ((margin, margin), (margin, margin), (0, 0)), mode="edge")
    image = Image.fromarray(np.clip(padded, 0, 255).astype(np.uint8))
    coefficients = perspective_coefficients(corners + SIDE / 2 + margin, target + SIDE / 2)
    return image.transform((SIDE, SIDE), Image.Transform.PERSPECTIVE, coefficients,
                           Image.Resampling.BILINEAR)


def add_light(rng, picture):
    """Exposure, a gradient across the window, a colour cast and a glare spot."""
    y, x = np.mgrid[-1:1:SIZE * 1j, -1:1:SIZE * 1j]
    direction = rng.uniform(0, 2 * np.pi)
    gradient = 1 + rng.uniform(0, .5) * (x * np.cos(direction) + y * np.sin(direction))
    cast = rng.uniform(.45, 1.15) * (1 + rng.normal(0, .05, 3))
    picture = picture * gradient[..., None] * cast
    if rng.random() < .35:
        cx, cy = rng.uniform(-1, 1, 2)
        rx, ry = rng.uniform(.15, .8, 2)
        spot = np.exp(-((x - cx) / rx) ** 2 - ((y - cy) / ry) ** 2)
        picture = picture + rng.uniform(40, 180) * spot[..., None]
    # Reflected haze lifts the black level and so lowers the contrast.
    haze = rng.beta(1.2, 6)
    return picture * (1 - haze) + 130 * haze


def render(seed, index, digit):
    """One picture as uint8 [SIZE, SIZE, 3]."""
    rng = np.random.default_rng((seed, index))
    ink = wear(rng, np.asarray(ink_mask(rng, digit), np.float32) / 255)
    drum, colour = pick_palette(rng)
    flat = drum + ink[..., None] * (colour - drum)
    picture = add_dirt(rng, add_window(rng, wrap_on_drum(rng, flat)))
    image = tilt(rng, picture)
    image = image.filter(ImageFilter.GaussianBlur(SCALE * rng.gamma(2, .28)))
    image = image.resize((SIZE, SIZE), Image.Resampling.BOX)
    picture = add_light(rng, np.asarray(image, np.float32))
    picture = picture + rng.normal(0, rng.uniform(1, 7), picture.shape)
    return np.clip(np.rint(picture), 0, 255).astype(np.uint8)


def render_set(name, count):
    """Pictures [count, SIZE, SIZE, 3] and labels of a set, classes in equal shares."""
    labels = np.arange(count) % CLASSES
    pictures = np.stack([render(SEEDS[name], i, int(label)) for i, label in enumerate(labels)])
    return pictures, labels


def write_set(folder, name, count):
    pictures, labels = render_set(name, count)
    (folder / name).mkdir(parents=True, exist_ok=True)
    lines = []
    for i, (picture, label) in enumerate(zip(pictures, labels), start=1):
        file = f"digit_{i:04d}.png"
        Image.fromarray(picture).save(folder / name / file, optimize=True)
        lines.append(f"{file} {label}\n")
    (folder / f"{name}_labels.txt").write_text("".join(lines))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path(__file__).parent)
    out = parser.parse_args().out
    for name, count in COMMITTED.items():
        write_set(out, name, count)


if __name__ == "__main__":
    main()
