"""Draw the five frost textures that fan_dense ships, always the same ones.

Nothing in them is photographed: feathers, needles and stars are drawn as branching strokes with a lit and a shaded
side, over noise of several scales. Their mean colour and contrast follow the published textures, see
docs/corruptions.md.
"""

from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw
from scipy.ndimage import gaussian_filter, map_coordinates

from fan_dense import cli

SCALE = 2  # drawn twice as large, then reduced
QUALITY = 92


def noise(rng, shape, sigmas, weights):
    """A sum of smooth random fields, each of variance 1 before it is weighted."""
    total = np.zeros(shape)
    for sigma, weight in zip(sigmas, weights):
        field = gaussian_filter(rng.standard_normal(shape), sigma, mode='wrap')
        total += weight * field / field.std()
    return total


def stroke(draw, start, end, width, light, depth):
    """A ridge from start to end: its shadow, its lit flank, its crest."""
    shift = (width + 1) / 2
    for offset, shade in ((shift, -depth), (-shift / 2, depth), (0, depth / 3)):
        draw.line([*(start + offset), *(end + offset)], fill=int(np.clip(light + shade, 0, 255)), width=width)


def along(angle, length):
    return length * np.array([np.cos(angle), np.sin(angle)])


def feather(draw, rng, root, angle, length, light, depth, order=2):
    """A dendrite: a stem with side branches at about 55 degrees, shorter towards the tip, and theirs in turn."""
    gap = max(6.0, length / 11)
    for reached in np.arange(gap, length, gap) if order else ():
        for side in (-1, 1):
            branch = rng.uniform(0.3, 0.6) * (length - reached) + 3
            tilt = angle + side * np.deg2rad(rng.normal(55, 6))
            feather(draw, rng, root + along(angle, reached), tilt, branch, light, depth * 0.8, order - 1)
    stroke(draw, root, root + along(angle, length), 1 + (length > 50), light + depth / 2, depth)


def needles(draw, rng, root, angle, length, light, depth):
    """A fan of straight needles."""
    for _ in range(rng.integers(6, 16)):
        start = root + rng.normal(0, length / 10, 2)
        end = start + along(angle + np.deg2rad(rng.normal(0, 10)), length * rng.uniform(0.3, 1))
        stroke(draw, start, end, int(rng.integers(1, 4)), light + rng.normal(0, 8), depth)


def star(draw, rng, root, angle, length, light, depth):
    """Blades round a point, 60 degrees apart, each with a lit and a shaded facet."""
    for k in range(rng.integers(3, 7)):
        tilt, reach = angle + k * np.pi / 3 + rng.normal(0, 0.1), length * rng.uniform(0.4, 1)
        tip, left, right = (root + along(tilt + turn, reach * part) for turn, part in ((0, 1), (0.4, 0.5), (-0.4, 0.5)))
        for flank, sign in ((left, 1), (right, -1)):
            shade = int(np.clip(light + sign * depth * rng.uniform(0.3, 1.2), 0, 255))
            draw.polygon([tuple(root), tuple(flank), tuple(tip)], fill=shade)


def crystals(rng, base, kind, count, lengths, depth, density):
    """Paint crystals over a picture (H, W), the larger ones first; density (H, W) is the chance that one takes root."""
    height, width = base.shape
    size = width * SCALE, height * SCALE
    picture = Image.fromarray(np.clip(base, 0, 255).astype(np.uint8)).resize(size, Image.Resampling.BICUBIC)
    draw = ImageDraw.Draw(picture)
    for length in np.sort(np.exp(rng.uniform(*np.log(lengths), count)))[::-1]:
        x, y = rng.integers(0, width), rng.integers(0, height)
        if rng.random() < density[y, x]:
            light = base[y, x] + rng.normal(0, depth / 4)
            contrast = depth * rng.uniform(0.5, 1.3)
            kind(draw, rng, np.array([x, y]) * SCALE, rng.uniform(0, 2 * np.pi), length * SCALE, light, contrast)
    return np.asarray(picture.resize((width, height), Image.Resampling.BOX), np.float64)


def wrinkles(rng, shape):
    """A crumpled sheet: ridges of warped noise."""
    y, x = np.mgrid[: shape[0], : shape[1]].astype(np.float64)
    bend = [noise(rng, shape, (60, 20), (22, 6)) for _ in range(2)]
    ridges = np.zeros(shape)
    for sigma, weight in ((14, 1.0), (6, 0.8), (2.5, 0.5)):
        sheet = map_coordinates(noise(rng, shape, (sigma,), (1,)), [y + bend[0], 0.6 * x + bend[1]], mode='grid-wrap')
        ridges += weight * np.exp(-np.abs(sheet) * 6)
    lit = np.diff(gaussian_filter(ridges, 0.7), axis=0, prepend=0) - np.diff(ridges, axis=1, prepend=0)
    return ridges + 5 * lit


def tinted(gray, means, deviations):
    """RGB from a gray picture: each channel with that mean and standard deviation."""
    unit = (gray - gray.mean()) / gray.std()
    return np.clip(unit[:, :, None] * deviations + means, 0, 255)


def sheet(rng):
    shape = (600, 900)
    cloud = noise(rng, shape, (90, 45), (1, 0.5))
    picture = tinted(wrinkles(rng, shape) + noise(rng, shape, (1,), (0.25,)), (78, 149, 166), (13, 13, 13))
    return picture + (cloud - cloud.mean())[:, :, None] * np.array([20, 9, 6])


def white(rng):
    shape = (360, 600)
    base = 195 + noise(rng, shape, (50, 15, 2), (11, 6, 4))
    gray = crystals(rng, base, needles, 700, (14, 100), 17, np.ones(shape))
    return tinted(gray + noise(rng, shape, (0.8,), (3,)), (201, 205, 214), (21, 22, 22))


def stars(rng):
    shape = (400, 600)
    drips = noise(rng, (1, shape[1]), ((0, 1.5), (0, 12)), (7, 4))
    grains = noise(rng, shape, (0.7, 1.5), (10, 9))
    base = 150 + drips + grains + noise(rng, shape, (70, 20), (12, 6))
    top = np.clip(np.linspace(1, 0.1, shape[0])[:, None] + noise(rng, shape, (50,), (0.2,)), 0.05, 1)
    gray = crystals(rng, base, star, 4000, (3, 18), 55, top)
    return tinted(gray, (138, 153, 165), (28.5, 28.5, 30))


def feathers(rng):
    shape = (500, 660)
    y, x = np.mgrid[1 : 0 : shape[0] * 1j, 0 : 1 : shape[1] * 1j]
    bright = x * y + 0.2 * noise(rng, shape, (60,), (1,))
    base = 75 + 80 * np.clip(bright, 0, 1) + noise(rng, shape, (25, 3), (9, 4))
    gray = crystals(rng, base, feather, 1500, (8, 60), 60, np.clip(0.5 + bright, 0.3, 1))
    return tinted(gray, (112, 123, 135), (44, 43, 42))


def draw_frost(args) -> None:
    args.folder.mkdir(parents=True, exist_ok=True)
    for index, texture in enumerate((sheet, white, white, stars, feathers), start=1):
        picture = np.clip(texture(np.random.default_rng(index)), 0, 255).astype(np.uint8)
        Image.fromarray(picture).save(args.folder / f'frost{index}.jpg', quality=QUALITY)


def parse() -> cli.Parser:
    parser = cli.Parser(__doc__)
    parser.add_argument('folder', type=Path, help='where frost1.jpg to frost5.jpg are written')
    return parser


if __name__ == '__main__':
    raise SystemExit(cli.run(draw_frost, parse()))
