"""The things that stand or move on the street: vehicles as boxes, people, cyclists and signs as upright cut-outs.

Each function draws its looks from a generator and returns a :class:`Model` in its own coordinates: the origin on the
ground under its middle, +z its front.
"""

from dataclasses import dataclass

import numpy as np

from fan_dense.datasets.scene_canvas import CIRCLE, Light, Part, disc

AHEAD = (0.0, 1.0)


@dataclass(frozen=True)
class Model:
    """``parts`` in the order of painting; ``solid`` ones can be turned, cut-outs always face the camera.

    ``nose`` is what stands in front of the parts: painted before them when seen from behind, else after them.
    ``support`` (the pole of a sign) is seen but belongs to no instance.
    """

    parts: list[Part]
    length: float
    width: float
    height: float
    solid: bool = True
    nose: tuple[Part, ...] = ()
    support: 'Model | None' = None

    def placed(self, x: float, z: float, heading: tuple[float, float] = AHEAD) -> list[Part]:
        """The parts in world coordinates; ``heading`` is a unit vector (x, z)."""
        parts = [*self.nose, *self.parts] if heading[1] > 0 else [*self.parts, *self.nose]
        moved = _move(np.concatenate([part.points for part in parts]), x, z, heading)
        starts = np.cumsum([0] + [len(part.points) for part in parts]).tolist()
        return [p._replace(points=moved[a:b]) for p, a, b in zip(parts, starts, starts[1:])]

    def footprint(self, x: float, z: float, heading: tuple[float, float] = AHEAD) -> np.ndarray:
        """Corners (4, 3) of the rectangle that it covers on the ground."""
        w, h = self.width / 2, self.length / 2
        return _move(np.array([(-w, 0, -h), (w, 0, -h), (w, 0, h), (-w, 0, h)]), x, z, heading)


def _move(points: np.ndarray, x: float, z: float, heading: tuple[float, float]) -> np.ndarray:
    sin, cos = heading
    px, py, pz = points.T
    return np.stack([x + cos * px + sin * pz, py, z - sin * px + cos * pz], axis=1)


def _box(
    length: float, width: float, low: float, high: float, at: float = 0.0, taper=(0.0, 0.0, 0.0)
) -> dict[str, tuple]:
    """Faces (4 corners) of a box, corners counter-clockwise as seen from outside, the first at the bottom left.

    ``at`` shifts it along z; ``taper`` moves the upper edges in from the back, the front and both sides, in metres.
    """
    back, front, side = taper
    x, z0, z1 = width / 2, at - length / 2, at + length / 2
    xt, z0t, z1t = x - side, z0 + back, z1 - front
    a, b, c, d = (-x, low, z0), (x, low, z0), (x, low, z1), (-x, low, z1)
    e, f, g, h = (-xt, high, z0t), (xt, high, z0t), (xt, high, z1t), (-xt, high, z1t)
    faces = {
        'back': (a, b, f, e),
        'right': (b, c, g, f),
        'front': (c, d, h, g),
        'left': (d, a, e, h),
        'top': (e, f, g, h),
    }
    return {name: np.array(corners) for name, corners in faces.items()}


def _patch(face, left: float, bottom: float, right: float, top: float) -> list[tuple[float, float, float]]:
    """Part (4 corners) of a face, in fractions of its width and height."""
    (ax, ay, az), (bx, by, bz), (cx, cy, cz), (dx, dy, dz) = face
    points = []
    for u, v in ((left, bottom), (right, bottom), (right, top), (left, top)):
        a, b, c, d = (1 - u) * (1 - v), u * (1 - v), u * v, (1 - u) * v
        points.append(
            (a * ax + b * bx + c * cx + d * dx, a * ay + b * by + c * cy + d * dy, a * az + b * bz + c * cz + d * dz)
        )
    return points


def _wheels(length: float, width: float, radius: float, inset: float) -> tuple[list[Part], list[Part]]:
    """Four wheels: their treads, seen from behind and from ahead, and their discs, seen from the sides."""
    treads, discs = [], []
    tyre, hub = disc(0, radius, radius), disc(0, radius, radius * 0.55)
    for side in (-1, 1):
        x = side * (width / 2 + 0.01)
        for z in (-length / 2 + inset, length / 2 - inset):
            for rim, colour in ((tyre, (28, 27, 26)), (hub, (150, 150, 150))):
                discs.append(Part([(x, v, z + side * u) for u, v in rim], colour))
        x0, x1 = sorted((side * width / 2, side * (width / 2 - 0.24)))
        for z, left, right in ((-length / 2 + 0.05, x0, x1), (length / 2 - 0.05, x1, x0)):
            treads.append(Part([(left, 0, z), (right, 0, z), (right, 0.5, z), (left, 0.5, z)], (24, 24, 24)))
    return treads, discs


GLASS = (92, 76, 62)
CAR_PAINTS = [
    (235, 235, 235), (190, 192, 195), (120, 122, 125), (48, 46, 45), (40, 36, 185), (170, 80, 30), (60, 120, 60),
    (40, 190, 230), (60, 60, 120), (150, 130, 60),
]  # fmt: skip
CARGO_PAINTS = [(240, 240, 240), (60, 130, 240), (70, 70, 200), (180, 120, 50), (90, 150, 80), (200, 210, 190)]


def car(rng: np.random.Generator, light: Light) -> Model:
    """Saloon, hatchback or van-like car, 3.7 to 4.6 m."""
    paint = CAR_PAINTS[rng.integers(len(CAR_PAINTS))]
    size, boot = rng.random(2).tolist()
    length, width, height = 3.7 + 0.9 * size, 1.72 + 0.16 * size, 1.42 + 0.25 * rng.random()
    body = _box(length, width, 0.28, 0.88)
    cabin_length = length * (0.5 + 0.16 * boot)
    cabin = _box(cabin_length, width - 0.06, 0.86, height, at=-length * (0.1 * boot), taper=(0.45, 0.75, 0.16))
    treads, discs = _wheels(length, width, 0.33, 0.75)
    parts = treads + [Part(face, paint) for face in body.values()]
    dark = tuple(0.45 * c for c in paint)
    tail, head = ((60, 60, 255), (235, 250, 255)) if light.lamps else ((45, 40, 190), (215, 225, 230))
    for name, lamp in (('back', tail), ('front', head)):
        parts.append(Part(_patch(body[name], 0, 0, 1, 0.3), dark))
        parts += [Part(_patch(body[name], u, 0.5, u + 0.2, 0.82), lamp, light.lamps) for u in (0.03, 0.77)]
        parts.append(Part(_patch(body[name], 0.36, 0.36, 0.64, 0.6), (220, 225, 225)))
    for name in ('left', 'right'):
        parts.append(Part(_patch(body[name], 0, 0, 1, 0.18), dark))
    parts += discs
    parts += [Part(face, paint) for face in cabin.values()]
    parts += [Part(_patch(cabin[name], 0.08, 0.12, 0.92, 0.86), GLASS) for name in ('back', 'front')]
    parts += [Part(_patch(cabin[n], u, 0.12, u + 0.4, 0.84), GLASS) for n in ('left', 'right') for u in (0.07, 0.53)]
    return Model(parts, length, width, height)


def truck(rng: np.random.Generator, light: Light) -> Model:
    """Lorry with a box body, 6 to 8.5 m."""
    paint = CAR_PAINTS[rng.integers(len(CAR_PAINTS))]
    cargo = CARGO_PAINTS[rng.integers(len(CARGO_PAINTS))]
    stripe = CARGO_PAINTS[rng.integers(len(CARGO_PAINTS))]
    a, b = rng.random(2).tolist()
    length, width, height = 6.0 + 2.5 * a, 2.3 + 0.2 * b, 2.9 + 0.7 * b
    cab = _box(1.9, width - 0.1, 0.5, 2.3 + 0.3 * b, at=length / 2 - 0.95, taper=(0.0, 0.35, 0.06))
    load = _box(length - 2.0, width, 0.85, height, at=-1.0)
    frame = _box(length - 0.2, width - 0.5, 0.4, 0.86)
    treads, discs = _wheels(length, width, 0.48, 1.1)
    lamp = (60, 60, 255) if light.lamps else (45, 40, 190)
    parts = treads + [Part(face, (50, 50, 52)) for face in frame.values()]
    parts += [Part(_patch(frame['back'], u, 0.3, u + 0.16, 0.8), lamp, light.lamps) for u in (0.0, 0.84)]
    body = [Part(face, cargo) for face in load.values()]
    body += [Part(_patch(load[name], 0, 0.3, 1, 0.5), stripe) for name in ('left', 'right')]
    body += [Part(_patch(load['back'], u, 0.06, u + 0.42, 0.94), tuple(0.86 * c for c in cargo)) for u in (0.06, 0.52)]
    front = [Part(face, paint) for face in cab.values()]
    front += [Part(_patch(cab['front'], 0.08, 0.5, 0.92, 0.92), GLASS)]
    front += [Part(_patch(cab[name], 0.2, 0.52, 0.85, 0.9), GLASS) for name in ('left', 'right')]
    head = (235, 250, 255) if light.lamps else (215, 225, 230)
    front += [Part(_patch(cab['front'], u, 0.08, u + 0.18, 0.2), head, light.lamps) for u in (0.05, 0.77)]
    return Model(parts + body + discs, length, width, height, nose=tuple(front))


SKIN = [(150, 180, 225), (110, 150, 205), (70, 100, 150), (50, 70, 105)]
CLOTHES = [
    (60, 60, 190), (170, 90, 40), (60, 150, 70), (50, 190, 225), (200, 200, 205), (45, 45, 48), (150, 70, 140),
    (70, 120, 220), (110, 110, 115),
]  # fmt: skip
TROUSERS = [(95, 65, 45), (50, 48, 46), (110, 115, 120), (80, 110, 140), (130, 90, 60)]
HAIR = [(25, 25, 30), (40, 60, 90), (80, 150, 190), (120, 120, 125)]


def _cut(points, colour, glow: bool = False) -> Part:
    outline = np.zeros((len(points), 3))
    outline[:, :2] = points
    return Part(outline, colour, glow)


def person(rng: np.random.Generator, light: Light) -> Model:
    """Walker, 1.55 to 1.9 m, seen from the front or in stride."""
    skin, shirt, trousers, hair = (table[rng.integers(len(table))] for table in (SKIN, CLOTHES, TROUSERS, HAIR))
    tall, stride, stout, skirt = rng.random(4).tolist()
    h = 1.55 + 0.35 * tall
    hip, shoulder, s = 0.48 * h, 0.82 * h, 0.05 + 0.28 * stride
    w = 0.19 + 0.07 * stout
    sleeve = tuple(0.8 * c for c in shirt)
    parts = [
        _cut([(-w, shoulder), (-w - 0.08 - s / 3, hip), (-w + 0.02 - s / 3, hip - 0.03), (-w + 0.1, shoulder)], sleeve),
        _cut([(-w + 0.03, hip), (-s - 0.07, 0.0), (-s + 0.08, 0.0), (0.03, hip)], tuple(0.82 * c for c in trousers)),
        _cut([(-0.03, hip), (s - 0.08, 0.0), (s + 0.07, 0.0), (w - 0.03, hip)], trousers),
        _cut([(-w, shoulder), (-w + 0.03, hip - 0.06), (w - 0.03, hip - 0.06), (w, shoulder), (0, h * 0.86)], shirt),
        _cut([(w, shoulder), (w + 0.08 + s / 3, hip), (w - 0.02 + s / 3, hip - 0.03), (w - 0.1, shoulder)], sleeve),
        _cut(disc(0, h * 0.925, 0.095, 0.125), hair),
        _cut(disc(0.02, h * 0.905, 0.08, 0.1), skin),
    ]
    if skirt < 0.25:
        hem = [(-w + 0.02, hip + 0.05), (-w - 0.06, hip * 0.5), (w + 0.06, hip * 0.5), (w - 0.02, hip + 0.05)]
        parts.insert(3, _cut(hem, tuple(0.9 * c for c in shirt)))
    return Model(parts, 0.5, 0.6, h, solid=False)


def bicycle(rng: np.random.Generator, light: Light) -> Model:
    """Bicycle with its rider, side on or foreshortened, going left or right."""
    skin, shirt, trousers, helmet = (table[rng.integers(len(table))] for table in (SKIN, CLOTHES, TROUSERS, CLOTHES))
    frame = CAR_PAINTS[rng.integers(len(CAR_PAINTS))]
    turn, lean, pedal, side = rng.random(4).tolist()
    a = (0.4 + 0.6 * turn) * (1 if side < 0.5 else -1)  # foreshortening and direction
    parts = []
    for x in (-0.53, 0.53):
        parts.append(_cut(disc(x * a, 0.35, 0.37 * abs(a), 0.36), (30, 28, 28)))
        parts.append(_cut(disc(x * a, 0.35, 0.28 * abs(a), 0.28), (125, 128, 130)))
    hip, hand, neck = (-0.2, 1.0), (0.42, 1.02), (0.12 + 0.15 * lean, 1.5 - 0.08 * lean)
    foot = (-0.02 + 0.16 * pedal, 0.2 + 0.22 * pedal)

    def bar(p, q, thick, colour):
        (px, py), (qx, qy) = p, q
        dx, dy = qx - px, qy - py
        norm = thick / (2 * (dx * dx + dy * dy) ** 0.5)
        ox, oy = -dy * norm, dx * norm
        corners = [(px + ox, py + oy), (px - ox, py - oy), (qx - ox, qy - oy), (qx + ox, qy + oy)]
        parts.append(_cut([(x * a, y) for x, y in corners], colour))

    for p, q in (((-0.53, 0.35), (0.0, 0.3)), ((0.0, 0.3), (0.38, 0.85)), ((-0.18, 0.88), (0.36, 0.8)),
                 ((0.53, 0.35), (0.4, 1.0)), ((0.0, 0.3), (-0.2, 0.95)), ((-0.53, 0.35), (-0.18, 0.85))):  # fmt: skip
        bar(p, q, 0.09, frame)
    knee = (0.2, 0.72 + 0.12 * pedal)
    bar(hip, knee, 0.2, trousers)
    bar(knee, foot, 0.15, trousers)
    bar((hip[0] - 0.02, hip[1] - 0.08), (neck[0], neck[1] + 0.02), 0.36, shirt)
    bar((neck[0], neck[1] - 0.1), hand, 0.12, tuple(0.8 * c for c in shirt))
    head = ((neck[0] + 0.1) * a, neck[1] + 0.2)
    parts.append(_cut(disc(*head, 0.1, 0.13), skin))
    parts.append(_cut([(x, y + 0.05) for x, y in disc(*head, 0.12, 0.11)][:9], helmet))
    return Model(parts, 0.5, 1.6 * abs(a), 1.8, solid=False)


RED, WHITE, BLUE, YELLOW = (40, 35, 200), (240, 240, 240), (190, 95, 25), (50, 200, 245)
TRIANGLE = [(-0.52, -0.4), (0.52, -0.4), (0.0, 0.5)]


def sign(rng: np.random.Generator, light: Light) -> Model:
    """Traffic sign of one of five shapes, or a traffic light, on a pole."""
    kind = int(rng.integers(6))
    size, y, hue = 0.95 + 0.4 * rng.random(), 2.1 + 0.7 * rng.random(), float(rng.random())
    if kind == 0:  # round, red rim
        shapes = [
            (disc(0, 0, 0.5), RED),
            (disc(0, 0, 0.36), WHITE),
            ([(-0.2, -0.1), (0.2, -0.1), (0.2, 0.1), (-0.2, 0.1)], (40, 40, 40)),
        ]
    elif kind == 1:  # warning triangle
        inner = [(0.66 * x, 0.66 * y - 0.04) for x, y in TRIANGLE]
        shapes = [
            (TRIANGLE, RED),
            (inner, WHITE if hue < 0.5 else YELLOW),
            ([(-0.06, -0.2), (0.06, -0.2), (0.06, 0.14), (-0.06, 0.14)], (40, 40, 40)),
        ]
    elif kind == 2:  # blue square
        shapes = [
            ([(-0.45, -0.45), (0.45, -0.45), (0.45, 0.45), (-0.45, 0.45)], BLUE),
            ([(-0.25, -0.3), (0.25, -0.3), (0, 0.32)], WHITE),
        ]
    elif kind == 3:  # stop
        octagon = [(x, y) for x, y in disc(0, 0, 0.52)[1::2]]
        shapes = [
            (octagon, WHITE),
            ([(0.9 * x, 0.9 * y) for x, y in octagon], RED),
            ([(-0.3, -0.09), (0.3, -0.09), (0.3, 0.09), (-0.3, 0.09)], WHITE),
        ]
    elif kind == 4:  # priority road
        diamond = [(-0.52, 0.0), (0.0, -0.52), (0.52, 0.0), (0.0, 0.52)]
        shapes = [(diamond, WHITE), ([(0.7 * x, 0.7 * y) for x, y in diamond], YELLOW)]
    else:
        lit = int(hue * 3)
        shapes = [([(-0.26, -0.62), (0.26, -0.62), (0.26, 0.62), (-0.26, 0.62)], (38, 40, 40))]
        lights = ((60, 210, 60), (60, 200, 250), (50, 50, 250))
        shapes += [
            (disc(0, -0.38 + 0.38 * k, 0.16), c if k == lit else tuple(c * 0.25 for c in c))
            for k, c in enumerate(lights)
        ]
    parts = [
        _cut([(x * size, y + v * size) for x, v in points], colour, kind == 5 and max(colour) > 200)
        for points, colour in shapes
    ]
    pole = Model([_cut([(-0.05, 0), (0.05, 0), (0.05, y), (-0.05, y)], (105, 108, 110))], 0.1, 0.1, y, solid=False)
    return Model(parts, 0.2, 0.2, y + size / 2, solid=False, support=pole)


LEAVES = [(45, 105, 60), (40, 120, 85), (55, 95, 45), (35, 100, 110), (40, 85, 50)]


def tree(rng: np.random.Generator, light: Light, detailed: bool) -> Model:
    """A broad-leaved tree, a conifer or a bush, up to 9 m; bright where the sun catches the leaves."""
    green = LEAVES[rng.integers(len(LEAVES))]
    kind, tall = rng.random(2).tolist()
    sun = light.sun[0]
    trunk = 0.13 + 0.1 * tall
    parts = [] if kind < 0.2 else [_cut([(-trunk, 0), (trunk, 0), (trunk * 0.7, 3), (-trunk * 0.7, 3)], (51, 64, 81))]
    if kind < 0.2:
        leaves = _bush(tall, sun)
    elif kind < 0.45:
        leaves = _conifer(tall, sun)
    else:
        leaves = _broadleaf(rng.random((13 if detailed else 4, 3)), tall, sun)
    parts += [_cut(outline, tuple(shade * c for c in green)) for outline, shade in leaves]
    return Model(parts, 1.6, 1.6, 5.0, solid=False)


def _blobs(spots, shades):
    """Discs (16, 2) at (x, y, radius), each with its shade."""
    spots = np.array(spots)[:, None]  # (N, 1, 3)
    return zip(spots[..., :2] + CIRCLE * spots[..., 2:], shades)


def _bush(tall: float, sun: float):
    high, wide = 0.6 + 0.6 * tall, 0.7 + 0.5 * tall
    spots = [(-0.6, 0.5 * high, 0.7 * wide), (0.6, 0.5 * high, 0.7 * wide), (0.0, 0.7 * high, 0.8 * wide)]
    return _blobs([*spots, (0.2 * sun, 0.9 * high, 0.6 * wide)], (0.85, 0.85, 0.85, 1.1))


def _conifer(tall: float, sun: float):
    leaves, top = [], 5 + 4 * tall
    for k in range(4):
        low, half = 0.9 + k * top * 0.2, 1.9 - 0.42 * k
        tip = (0.0, low + top * 0.42)
        leaves.append(([(-half, low), (half, low), tip], 0.7 + 0.09 * k))
        leaves.append(([(0.0, low), (half * sun, low), tip], 0.85 + 0.09 * k))
    return leaves


def _broadleaf(spots: np.ndarray, tall: float, sun: float):
    """Blobs from the dark underside up, then small glints; ``spots`` (N, 3) are numbers from 0 to 1."""
    crown, size = 3.6 + 1.6 * tall, 1.2 + 0.6 * tall
    (a, b, c), (d, e, f) = spots[:9].T, spots[9:].T
    up = np.arange(len(a)) / (len(a) - 1)
    rise = 1.3 * up - 0.65
    blobs = [(2 * a - 1) + 0.25 * sun * rise, rise + b / 2 - 0.25, 0.55 + 0.35 * c]
    glints = [1.5 * (d - 0.5) + 0.35 * sun, 1.2 * e - 0.35, 0.12 + 0.14 * f]
    placed = np.concatenate([np.stack(blobs, 1), np.stack(glints, 1)]) * size + (0.0, crown, 0.0)
    return _blobs(placed, [*(0.68 + 0.44 * up).tolist(), *[1.18] * len(d)])
