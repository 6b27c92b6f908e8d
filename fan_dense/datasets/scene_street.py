"""The street itself: sky, ground, what lines it on both sides, and the shadows on it."""

import cv2
import numpy as np

from fan_dense.datasets.scene_canvas import NEAR, SUPERSAMPLING, Camera, Canvas, Light
from fan_dense.datasets.scene_classes import BUILDING, ROAD, SIDEWALK, SKY, TERRAIN, VEGETATION
from fan_dense.datasets.scene_layout import House, Street, Thing

STRIP = np.array([NEAR, 2.5, 3.5, 5, 7, 10, 14, 20, 30, 45, 70, 110])  # metres at which the ground bends
FACADES = [
    (130, 160, 185), (105, 130, 175), (90, 95, 150), (165, 180, 190), (150, 150, 150), (175, 190, 200), (120, 150, 140),
    (85, 110, 140), (190, 185, 175), (110, 115, 120), (140, 120, 110),
]  # fmt: skip
ROOFS = [(65, 70, 130), (70, 70, 75), (60, 80, 110), (95, 90, 85)]
MARKING = (225, 228, 230)
SILL, GLASS, REFLECTION, LAMPLIGHT = (205, 210, 215), (88, 74, 62), (175, 160, 140), (120, 205, 245)


def _strip(x0: float, x1: float, z=STRIP, y: float = 0.0) -> np.ndarray:
    """Outline (2K, 3) of a strip of ground between two distances from the middle."""
    left = np.stack([np.full(len(z), x0), np.full(len(z), y), z], axis=1)
    right = np.stack([np.full(len(z), x1), np.full(len(z), y), z[::-1]], axis=1)
    return np.concatenate([left, right])


def _quads(corners, across, up) -> np.ndarray:
    """Quads (N, 4, 3) with first corners ``corners`` (N, 3), spanned by the vectors ``across`` and ``up``."""
    across, up = np.array(across, float), np.array(up, float)
    return np.asarray(corners, float)[:, None] + np.stack([np.zeros(3), across, across + up, up])


def _dashes(x0: float, x1: float, starts, length: float) -> np.ndarray:
    """Quads (N, 4, 3) on the ground from ``x0`` to ``x1``, starting at depths (N,)."""
    return _quads([(x0, 0, z) for z in starts], (x1 - x0, 0, 0), (0, 0, length))


def paint_sky(canvas: Canvas, rng: np.random.Generator) -> None:
    """Gradient with clouds above the horizon, and a far skyline on it."""
    height, width = canvas.pixels.shape[:2]
    light, horizon = canvas.light, int(canvas.camera.v)
    rows = max(1, -(-horizon // SUPERSAMPLING))
    down = np.linspace(0, 1, rows)[:, None]
    sky = np.array(light.sky_top) * (1 - down) + np.array(light.sky_low) * down  # (rows, 3)
    cover = int(rng.integers(90, 200))
    shapes = ((4, 5), (8, 12), (16, 30))
    octaves = [np.frombuffer(rng.bytes(a * b), np.uint8).reshape(a, b) for a, b in shapes]
    area = (width // SUPERSAMPLING, rows)
    octaves = [cv2.resize(octave, area, interpolation=cv2.INTER_LINEAR_EXACT).astype(np.int16) for octave in octaves]
    mix = (octaves[0] * 4 + octaves[1] * 3 + octaves[2]) // 8
    alpha = np.clip((mix - cover) * 5, 0, 220).astype(np.uint16)[..., None]  # (rows, W, 1)
    above = np.full((rows, area[0], 4), SKY, np.uint8)
    above[..., :3] = (sky.astype(np.uint16)[:, None] * (256 - alpha) + np.array(light.cloud, np.uint16) * alpha) >> 8
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
    for side in (-1, 1):
        inner, outer, middle = side * street.road, side * street.kerb, side * (street.road + street.kerb) / 2
        canvas.surface(_strip(inner, outer), slab, SIDEWALK)
        canvas.surface(_dashes(inner, outer, np.arange(NEAR, 26, 1.5), 0.07), slab, SIDEWALK, 0.8)
        canvas.surface(_strip(middle - 0.03, middle + 0.03), slab, SIDEWALK, 0.8)
    canvas.surface(_strip(-street.road, street.road), asphalt, ROAD)
    for x, z, wide, long in rng.random((int(rng.integers(1, 5)), 4)).tolist():  # mended places
        x = (2 * x - 1) * street.road * 0.6
        canvas.surface(_dashes(x, x + 0.6 + 1.6 * wide, [3 + 20 * z], 1 + 3 * long), asphalt, ROAD, 0.82 + 0.3 * long)
    a, b, c, d = rng.random(4).tolist()
    canvas.surface(_dashes(-0.08, 0.08, np.arange(2.0, 60, 6.0) + 4 * a, 2.6), MARKING, ROAD)
    if b < 0.6:
        for side in (-1, 1):
            canvas.surface(_strip(side * (street.road - 0.45), side * (street.road - 0.32)), MARKING, ROAD)
    if c < 0.35:
        bars = [(x, 0, 7 + 10 * d) for x in np.arange(0.3 - street.road, street.road - 0.5, 1.0).tolist()]
        canvas.surface(_quads(bars, (0.5, 0, 0), (0, 0, 3)), MARKING, ROAD)
    for side in (-1, 1):
        canvas.surface(_strip(side * street.road, side * (street.road + 0.18)), slab, SIDEWALK, 1.15)


def shade_on_ground(size: tuple[int, int], camera: Camera, light: Light, things: list[Thing]) -> np.ndarray:
    """Light (H, W) uint8 that reaches the ground under and beside things."""
    shade = np.full(size, 255, np.uint8)

    def darken(points, level):
        hull = cv2.convexHull(np.rint(camera.project(points) / SUPERSAMPLING).astype(np.int32))
        cv2.fillConvexPoly(shade, hull, level)

    sun_x, sun_y, sun_z = light.sun
    offset = np.array([-sun_x / sun_y, 0.0, -sun_z / sun_y])  # of the shadow of a point 1 m above the ground
    near = [(t.model.footprint(t.x, t.z, t.heading), t.model.height) for t in things if t.z < 30]
    if light.shadow > 0:
        for footprint, height in near:
            darken(np.concatenate([footprint, footprint + offset * height]), int(255 * (1 - light.shadow)))
    for footprint, _ in near:
        middle = (footprint[0] + footprint[2]) / 2
        darken(middle + (footprint - middle) * 1.08, 105)
    return cv2.blur(shade, (3, 3))


def paint_house(canvas: Canvas, rng: np.random.Generator, house: House) -> None:
    """Walls, roof and windows."""
    side, x, z0, z1 = house.side, house.x, max(house.z0, NEAR), house.z1
    if z1 <= z0 + 0.5:
        return
    wall, roof = FACADES[rng.integers(len(FACADES))], ROOFS[rng.integers(len(ROOFS))]
    storeys = int(rng.integers(2, 6))
    a, b = rng.random(2).tolist()
    high, deep = storeys * 3.0 + 0.8, 8.0 + 4 * a
    foot, along, out = np.array([(x, 0, z0)]), (0, 0, z1 - z0), (side * deep, 0, 0)
    sun_x, _, sun_z = canvas.light.sun
    street_shade, front_shade = 0.74 - 0.3 * side * sun_x, 0.74 - 0.3 * sun_z
    if b < 0.45:  # pitched roof
        eaves = foot + (0, high, 0)
        ridge = eaves + (side * deep / 2, 3, 0)
        canvas.surface(_quads(eaves, along, (side * deep / 2, 3, 0)), roof, BUILDING, 0.9 - 0.2 * side * sun_x)
        canvas.surface(np.concatenate([eaves, eaves + out, ridge]), wall, BUILDING, front_shade)
    canvas.surface(_quads(foot, out, (0, high, 0)), wall, BUILDING, front_shade)
    canvas.surface(_quads(foot, along, (0, high, 0)), wall, BUILDING, street_shade)
    canvas.surface(_quads(foot, along, (0, 0.7, 0)), wall, BUILDING, street_shade * 0.7)
    if b >= 0.45:  # cornice
        canvas.surface(_quads(foot + (0, high - 0.4, 0), along, (0, 0.4, 0)), wall, BUILDING, street_shade * 1.2)
    if z0 < 70:
        _paint_windows(canvas, rng, foot, (0, 0, 1), z1 - z0, storeys, street_shade)
    if z0 < 50:
        _paint_windows(canvas, rng, foot, (side, 0, 0), deep, storeys, front_shade)


def _paint_windows(
    canvas: Canvas, rng: np.random.Generator, foot, along, length: float, storeys: int, shade: float
) -> None:
    """Rows of windows on a wall that runs ``length`` metres from ``foot`` in the direction ``along``."""
    along, lamps = np.array(along, float), canvas.light.lamps
    columns = max(1, int(length / 2.8))
    step = length / columns
    column, row = np.divmod(np.arange(columns * storeys), storeys)
    corners = foot + along * ((column + 0.25) * step)[:, None] + np.array((0, 3.0, 0)) * row[:, None] + (0, 1.3, 0)
    panes = _quads(corners, along * step / 2, (0, 1.6, 0))
    canvas.surface(
        _quads(corners - along * 0.1 - (0, 0.15, 0), along * (step / 2 + 0.2), (0, 0.3, 0)), SILL, BUILDING, shade
    )
    bright = rng.random(len(corners)) < (0.45 if lamps else 0.15)
    canvas.surface(panes[~bright], GLASS, BUILDING, shade)
    canvas.surface(panes[bright], LAMPLIGHT if lamps else REFLECTION, BUILDING, shade, glow=lamps)
