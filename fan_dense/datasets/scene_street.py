"""The street itself: sky, ground, what lines it on both sides, and the shadows on it."""

from dataclasses import dataclass

import cv2
import numpy as np

from fan_dense.datasets.scene_canvas import CIRCLE, NEAR, SUPERSAMPLING, Camera, Canvas, Light

ROAD, SIDEWALK, BUILDING, SIGN, VEGETATION, TERRAIN, SKY = range(7)
STRIP = np.array([NEAR, 2.5, 3.5, 5, 7, 10, 14, 20, 30, 45, 70, 110])  # metres at which the ground bends
FACADES = [
    (130, 160, 185), (105, 130, 175), (90, 95, 150), (165, 180, 190), (150, 150, 150), (175, 190, 200), (120, 150, 140),
    (85, 110, 140), (190, 185, 175), (110, 115, 120), (140, 120, 110),
]  # fmt: skip
ROOFS = [(65, 70, 130), (70, 70, 75), (60, 80, 110), (95, 90, 85)]
LEAVES = [(45, 105, 60), (40, 120, 85), (55, 95, 45), (35, 100, 110), (40, 85, 50)]


@dataclass(frozen=True)
class Street:
    """Cross-section in metres from the middle of the road, the same on both sides."""

    road: float  # half width
    sidewalk: float
    verge: float  # grass between the sidewalk and the houses

    @property
    def kerb(self) -> float:
        return self.road + self.sidewalk

    @property
    def line(self) -> float:
        return self.kerb + self.verge


def _strip(x0: float, x1: float, z=STRIP, y: float = 0.0) -> np.ndarray:
    """Outline (2K, 3) of a strip of ground between two distances from the middle."""
    left = np.stack([np.full(len(z), x0), np.full(len(z), y), z], axis=1)
    right = np.stack([np.full(len(z), x1), np.full(len(z), y), z[::-1]], axis=1)
    return np.concatenate([left, right])


def _dashes(x: float, width: float, starts: np.ndarray, length: float) -> np.ndarray:
    """Quads (N, 4, 3) on the ground."""
    corners = np.array([(-width / 2, 0, 0), (width / 2, 0, 0), (width / 2, 0, length), (-width / 2, 0, length)])
    return corners + np.stack([np.full(len(starts), x), np.zeros(len(starts)), starts], axis=1)[:, None]


def _rows(x0: float, x1: float, starts: np.ndarray, length: float) -> np.ndarray:
    return _dashes((x0 + x1) / 2, abs(x1 - x0), starts, length)


def paint_sky(canvas: Canvas, rng: np.random.Generator, horizon: int) -> None:
    """Gradient with clouds above the horizon (in canvas pixels), and a far skyline on it."""
    height, width = canvas.pixels.shape[:2]
    light = canvas.light
    rows = max(1, -(-horizon // SUPERSAMPLING))
    down = np.linspace(0, 1, rows)[:, None]
    sky = np.array(light.sky_top) * (1 - down) + np.array(light.sky_low) * down  # (rows, 3)
    cover = int(rng.integers(90, 200))
    shapes = ((4, 5), (8, 12), (16, 30))
    octaves = [np.frombuffer(rng.bytes(a * b), np.uint8).reshape(a, b) for a, b in shapes]
    area = (width // SUPERSAMPLING, rows)
    octaves = [cv2.resize(octave, area, interpolation=cv2.INTER_LINEAR_EXACT).astype(np.int16) for octave in octaves]
    mix = (octaves[0] * 4 + octaves[1] * 3 + octaves[2]) // 8
    alpha = np.clip((mix - cover) * 5, 0, 220)[..., None].astype(np.int32)  # (rows, W, 1)
    painted = (sky.astype(np.int32)[:, None] * (256 - alpha) + np.array(light.cloud, np.int32) * alpha) >> 8
    above = np.dstack([painted.astype(np.uint8), np.full(painted.shape[:2], SKY, np.uint8)])
    above = cv2.resize(above, (width, rows * SUPERSAMPLING), interpolation=cv2.INTER_NEAREST)
    canvas.pixels[: len(above)] = above[:height]

    edges = np.sort(rng.integers(0, width, 14)).tolist()
    tops = (rng.integers(5, 30, 15) * height // 384).tolist()
    wooded = rng.random() < 0.5
    colour = (70, 100, 80) if wooded else (140, 140, 145)
    points = [(0.0, float(horizon + 2)), (0.0, float(horizon - tops[0]))]
    for x, before, after in zip(edges, tops, tops[1:]):
        points += [(x, horizon - (before + after) // 2)] if wooded else [(x, horizon - before), (x, horizon - after)]
    points += [(width, horizon - tops[-1]), (width, horizon + 2)]
    canvas.surface(canvas.camera.upright(points, 100.0), colour, VEGETATION if wooded else BUILDING)


def paint_ground(canvas: Canvas, rng: np.random.Generator, street: Street) -> None:
    """Grass, sidewalks with slabs, the road with its markings and patches."""
    height, width = canvas.pixels.shape[:2]
    horizon = int(canvas.camera.v)
    grass = ((60, 120, 95), (70, 135, 130), (55, 110, 80))[rng.integers(3)]
    slab = ((165, 170, 175), (150, 158, 172), (140, 140, 140))[rng.integers(3)]
    asphalt = 72.0 + 40 * rng.random()
    asphalt = (asphalt + 4, asphalt, asphalt - 2)
    below = [(0, horizon), (width, horizon), (width, height), (0, height)]
    canvas.surface(canvas.camera.upright(below, 40.0), grass, TERRAIN)
    for side in (-1, 1):
        canvas.surface(_strip(side * street.kerb, side * 60), grass, TERRAIN)
    seams = np.arange(NEAR, 26, 1.5)
    for side in (-1, 1):
        inner, outer = side * street.road, side * street.kerb
        canvas.surface(_strip(inner, outer), slab, SIDEWALK)
        canvas.surface(_rows(inner, outer, seams, 0.07), slab, SIDEWALK, 0.8)
        canvas.surface(_strip((inner + outer) / 2 - 0.03, (inner + outer) / 2 + 0.03), slab, SIDEWALK, 0.8)
    canvas.surface(_strip(-street.road, street.road), asphalt, ROAD)
    for _ in range(int(rng.integers(1, 5))):
        x, z, w, length = rng.random(4).tolist()
        patch = _dashes((2 * x - 1) * street.road * 0.7, 0.6 + 1.6 * w, np.array([3 + 20 * z]), 1 + 3 * length)
        canvas.surface(patch, asphalt, ROAD, 0.82 + 0.3 * float(rng.random()))
    paint = (225, 228, 230)
    canvas.surface(_dashes(0.0, 0.16, np.arange(2.0, 60, 6.0) + 4 * rng.random(), 2.6), paint, ROAD)
    if rng.random() < 0.6:
        for side in (-1, 1):
            canvas.surface(_strip(side * (street.road - 0.45), side * (street.road - 0.32)), paint, ROAD)
    if rng.random() < 0.35:
        stripes = np.arange(-street.road + 0.5, street.road - 0.4, 1.0)
        at = 7 + 10 * rng.random()
        quads = np.concatenate([_dashes(x, 0.5, np.array([at]), 3.0) for x in stripes.tolist()])
        canvas.surface(quads, paint, ROAD)
    for side in (-1, 1):
        kerb = _strip(side * street.road, side * (street.road + 0.18))
        canvas.surface(kerb, slab, SIDEWALK, 1.15)


def shade_ground(camera: Camera, light: Light, casters: list[tuple[np.ndarray, float]], size) -> np.ndarray:
    """Light (H, W) uint8 that reaches the ground. ``casters`` are footprints (K, 3) and heights in metres."""
    mask = np.full(size, 255, np.uint8)

    def darken(points, level):
        hull = cv2.convexHull(np.rint(camera.project(points) / SUPERSAMPLING).astype(np.int32))
        cv2.fillConvexPoly(mask, hull, level)

    sun_x, sun_y, sun_z = light.sun
    offset = np.array([-sun_x / sun_y, 0.0, -sun_z / sun_y])
    if light.shadow > 0:
        for footprint, tall in casters:
            darken(np.concatenate([footprint, footprint + offset * tall]), int(255 * (1 - light.shadow)))
    for footprint, _ in casters:
        middle = (footprint[0] + footprint[2]) / 2
        darken(middle + (footprint - middle) * 1.08, 105)
    return cv2.blur(mask, (3, 3))


def paint_house(canvas: Canvas, rng: np.random.Generator, side: int, x: float, z0: float, z1: float) -> None:
    """A house with its street front at distance ``x`` from the middle, from ``z0`` to ``z1``."""
    z0 = max(z0, NEAR)
    if z1 <= z0 + 0.5:
        return
    wall = FACADES[rng.integers(len(FACADES))]
    roof = ROOFS[rng.integers(len(ROOFS))]
    storeys = int(rng.integers(2, 6))
    high, deep, pitched = storeys * 3.0 + 0.8, 8.0 + 4 * rng.random(), rng.random() < 0.45
    far = x + side * deep
    sun_x, _, sun_z = canvas.light.sun
    street_shade = 0.74 - 0.3 * side * sun_x
    front_shade = 0.74 - 0.3 * sun_z
    if pitched:
        ridge = (x + far) / 2
        slope = [(x, high, z0), (x, high, z1), (ridge, high + 3, z1), (ridge, high + 3, z0)]
        canvas.surface(slope, roof, BUILDING, 0.9 - 0.2 * side * sun_x)
        canvas.surface([(x, high, z0), (far, high, z0), (ridge, high + 3, z0)], wall, BUILDING, front_shade)
    canvas.surface([(x, 0, z0), (far, 0, z0), (far, high, z0), (x, high, z0)], wall, BUILDING, front_shade)
    canvas.surface([(x, 0, z0), (x, 0, z1), (x, high, z1), (x, high, z0)], wall, BUILDING, street_shade)
    canvas.surface([(x, 0, z0), (x, 0, z1), (x, 0.7, z1), (x, 0.7, z0)], wall, BUILDING, street_shade * 0.7)
    if not pitched and z0 < 30:
        cornice = [(x, high - 0.4, z0), (x, high - 0.4, z1), (x, high, z1), (x, high, z0)]
        canvas.surface(cornice, wall, BUILDING, street_shade * 1.2)

    columns = max(1, int((z1 - z0) / 2.8))
    step = (z1 - z0) / columns
    rows, cols = np.meshgrid(np.arange(storeys), np.arange(columns), indexing='ij')
    low = (rows * 3.0 + 1.3).ravel()
    start = (z0 + (cols + 0.25) * step).ravel()
    wide, tall = step * 0.5, 1.4 + 0.4 * float(rng.random())
    panes = np.stack(
        [
            np.stack([np.full(low.size, x), low + dy, start + dz], axis=1)
            for dy, dz in ((0, 0), (0, wide), (tall, wide), (tall, 0))
        ],
        axis=1,
    )  # (N, 4, 3)
    canvas.surface(
        panes - (0, 0.15, 0) + np.array([(0, 0, -0.1), (0, 0, 0.1), (0, 0.3, 0.1), (0, 0.3, -0.1)]),
        (205, 210, 215),
        BUILDING,
        street_shade,
    )
    bright = rng.random(low.size) < (0.45 if canvas.light.lamps else 0.15)
    if (~bright).any():
        canvas.surface(panes[~bright], (88, 74, 62), BUILDING, street_shade)
    if bright.any():
        lit = canvas.light.lamps
        canvas.surface(panes[bright], (120, 205, 245) if lit else (175, 160, 140), BUILDING, street_shade, glow=lit)
    if z0 < 40:
        gable = np.stack(
            [
                (
                    np.array([(x + side * (2 + 3 * c), r * 3 + 1.3, z0)])
                    + [(0, 0, 0), (side * 1.2, 0, 0), (side * 1.2, 1.5, 0), (0, 1.5, 0)]
                )
                for c in range(2)
                for r in range(storeys)
            ]
        )
        canvas.surface(gable, (88, 74, 62), BUILDING, front_shade)


def paint_tree(canvas: Canvas, rng: np.random.Generator, x: float, z: float) -> None:
    """A broad-leaved or coniferous tree, or a bush."""
    leaf = LEAVES[rng.integers(len(LEAVES))]
    kind, tall = rng.random(2).tolist()
    sun_x = canvas.light.sun[0]

    def cut(points, colour, shade):
        points = np.array(points)
        canvas.surface(
            np.column_stack([x + points[:, 0], points[:, 1], np.full(len(points), z)]), colour, VEGETATION, shade
        )

    def blobs(spots, shades):
        """Discs of leaves at (x, y, radius)."""
        spots = np.array(spots)[:, None]  # (N, 1, 3)
        rims = np.empty((len(spots), len(CIRCLE), 3))
        rims[..., 0] = x + spots[..., 0] + CIRCLE[:, 0] * spots[..., 2]
        rims[..., 1] = spots[..., 1] + CIRCLE[:, 1] * spots[..., 2]
        rims[..., 2] = z
        for rim, shade in zip(rims, shades):
            canvas.surface(rim, leaf, VEGETATION, shade)

    if kind < 0.2:  # bush
        high, wide = 0.6 + 0.6 * tall, 0.7 + 0.5 * tall
        spots = [(-0.6, 0.5 * high, 0.7 * wide), (0.6, 0.5 * high, 0.7 * wide), (0.0, 0.7 * high, 0.8 * wide)]
        blobs([*spots, (0.2 * sun_x, 0.9 * high, 0.5)], (0.85, 0.85, 0.85, 1.1))
        return
    trunk = 0.13 + 0.1 * tall
    cut([(-trunk, 0), (trunk, 0), (trunk * 0.7, 3), (-trunk * 0.7, 3)], (60, 75, 95), 0.85)
    if kind < 0.45:  # conifer
        top = 5 + 4 * tall
        for k in range(4):
            low, half = 0.9 + k * top * 0.2, 1.9 - 0.42 * k
            tip = (0, low + top * 0.42)
            cut([(-half, low), (half, low), tip], leaf, 0.7 + 0.09 * k)
            cut([(0, low), (half * sun_x, low + 0.05), tip], leaf, 0.85 + 0.09 * k)
        return
    crown, size, count = 3.6 + 1.6 * tall, 1.2 + 0.6 * tall, 9 if z < 30 else 4
    a, b, c = rng.random((9, 3))[:count].T
    rise = np.linspace(-0.65, 0.65, count)
    leafage = np.stack(
        [(2 * a - 1) * size + 0.25 * sun_x * rise, crown + (rise + b / 2 - 0.25) * size, size * (0.55 + 0.35 * c)], 1
    )
    blobs(leafage, np.linspace(0.68, 1.12, count).tolist())
    a, b, c = a[4:], b[4:], c[4:]
    if len(a):  # where the sun catches the leaves
        glints = [((a - 0.5) * 1.5 + 0.35 * sun_x) * size, crown + (1.2 * b - 0.35) * size, size * (0.12 + 0.14 * c)]
        blobs(np.stack(glints, axis=1), [1.18] * len(a))


def camera_over(rng: np.random.Generator, size: tuple[int, int], street: Street) -> Camera:
    """A camera between the kerbs, at the height of a windscreen up to that of a bus."""
    height, width = (n * SUPERSAMPLING for n in size)
    a, b, c, d, e, f = rng.random(6).tolist()
    return Camera(
        focal=width * (0.9 + 0.3 * a),
        u=width * (0.36 + 0.28 * b),
        v=height * (0.4 + 0.12 * c),
        x=(2 * d - 1) * 0.6 * street.road,
        height=1.5 + 1.0 * e * e,
        bend=(2 * f - 1) * 0.006,
    )
