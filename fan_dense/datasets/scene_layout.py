"""What is where: the hour, the street, and what stands on it and along it. Chosen before anything is painted."""

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from fan_dense.datasets import scene_objects as objects
from fan_dense.datasets.scene_canvas import SUPERSAMPLING, Camera, Light

# fmt: off
NOON = Light(
    sky_top=(225, 165, 95), sky_low=(245, 225, 195), cloud=(250, 250, 250), gain=(1.0, 1.0, 1.0),
    haze=(240, 222, 200), haze_depth=260, shadow=0.45, lamps=False, sun=(0.5, 0.8, -0.33),
)
MORNING = Light(
    sky_top=(215, 180, 140), sky_low=(190, 215, 245), cloud=(215, 230, 255), gain=(0.78, 0.93, 1.08),
    haze=(205, 220, 238), haze_depth=110, shadow=0.4, lamps=False, sun=(-0.74, 0.55, -0.38),
)
OVERCAST = Light(
    sky_top=(190, 182, 176), sky_low=(222, 220, 216), cloud=(212, 208, 205), gain=(0.86, 0.84, 0.82),
    haze=(215, 212, 208), haze_depth=120, shadow=0.0, lamps=False, sun=(0.0, 0.95, -0.3),
)
DUSK = Light(
    sky_top=(120, 80, 75), sky_low=(110, 150, 235), cloud=(130, 120, 190), gain=(0.62, 0.58, 0.66),
    haze=(130, 135, 185), haze_depth=140, shadow=0.15, lamps=True, sun=(0.8, 0.5, 0.33),
)
NIGHT = Light(
    sky_top=(48, 30, 22), sky_low=(80, 62, 52), cloud=(60, 50, 46), gain=(0.42, 0.38, 0.36),
    haze=(58, 48, 42), haze_depth=160, shadow=0.0, lamps=True, sun=(0.0, 0.95, -0.3),
)
# fmt: on
HOURS = ((0.32, NOON), (0.58, MORNING), (0.8, OVERCAST), (0.93, DUSK), (1.0, NIGHT))  # with cumulative shares


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


@dataclass(frozen=True)
class Kind:
    """How to make a thing, how many there are, and the depths in metres between which its rear stands."""

    make: Callable[[np.random.Generator, Light], objects.Model]
    fewest: int
    most: int
    near: float
    far: float


@dataclass(frozen=True)
class Thing:
    """What stands where: kind, model, position in metres and heading (a unit vector)."""

    kind: str
    model: objects.Model
    x: float
    z: float
    heading: tuple[float, float] = objects.AHEAD


@dataclass(frozen=True)
class House:
    """Its street front is at ``x`` from ``z0`` to ``z1``; ``side`` is -1 on the left, 1 on the right."""

    side: int
    x: float
    z0: float
    z1: float


# in the order of placing: the larger, the earlier
KINDS = {
    'truck': Kind(objects.truck, 0, 1, 8.0, 20.0),
    'car': Kind(objects.car, 1, 3, 5.0, 17.0),
    'bicycle': Kind(objects.bicycle, 0, 3, 4.5, 11.0),
    'person': Kind(objects.person, 0, 3, 4.0, 11.0),
    'traffic sign': Kind(objects.sign, 1, 3, 4.0, 10.0),
}


def choose_light(rng: np.random.Generator) -> Light:
    """The hour, with the sun from the left or from the right."""
    share, flip = rng.random(2).tolist()
    light = next(light for upto, light in HOURS if share < upto)
    x, y, z = light.sun
    return dataclasses.replace(light, sun=(-x, y, z)) if flip < 0.5 else light


def choose_street(rng: np.random.Generator) -> Street:
    a, b, c = rng.random(3).tolist()
    return Street(road=3.6 + 2.6 * a, sidewalk=2.0 + 2.0 * b, verge=max(0.0, 7 * c - 1.5))


def choose_camera(rng: np.random.Generator, size: tuple[int, int], street: Street) -> Camera:
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


def place_things(rng: np.random.Generator, street: Street, camera: Camera, light: Light) -> list[Thing]:
    """The instances: in view, and none in another."""
    things, taken = [], []
    for name, kind in KINDS.items():
        for _ in range(int(rng.integers(kind.fewest, kind.most + 1))):
            model = kind.make(rng, light)
            for _ in range(6):
                thing = Thing(name, model, *_spot(rng, name, kind, model, street))
                space = _space(thing)
                if _in_view(thing, camera) and all(_apart(space, other) for other in taken):
                    taken.append(space)
                    things.append(thing)
                    break
    return things


def _spot(rng: np.random.Generator, name: str, kind: Kind, model: objects.Model, street: Street):
    """Somewhere that such a thing may be: x, z and heading."""
    which, lane, depth, jitter = rng.random(4).tolist()
    side = 1 if which < 0.5 else -1
    z = kind.near + (kind.far - kind.near) * depth * (0.4 + 0.6 * depth) + model.length / 2
    if name in ('car', 'truck'):
        if lane > 0.86:  # crossing
            return side * street.road * 0.4, z, (1.0 if jitter < 0.5 else -1.0, 0.0)
        askew = (jitter - 0.5) * 0.12
        x = street.road - 1.2 if lane < 0.4 else street.road * 0.45  # parked or driving, on the right
        return side * x + (jitter - 0.5) * 0.4, z, (askew, side * (1 - askew * askew) ** 0.5)
    if name == 'traffic sign':
        return side * (street.road + 0.5), z, objects.AHEAD
    if lane < 0.65:  # on the sidewalk
        return side * (street.road + 0.4 + (street.sidewalk - 0.6) * jitter), z, objects.AHEAD
    return (2 * jitter - 1) * street.road * 0.9, z, objects.AHEAD


def _space(thing: Thing) -> tuple[float, float, float, float]:
    """The ground that a thing needs: x0, x1, z0, z1."""
    along, across = thing.model.length / 2 + 0.4, thing.model.width / 2 + 0.25
    if not thing.heading[1]:
        along, across = across, along
    return thing.x - across, thing.x + across, thing.z - along, thing.z + along


def _apart(a, b) -> bool:
    return a[0] > b[1] or b[0] > a[1] or a[2] > b[3] or b[2] > a[3]


def _in_view(thing: Thing, camera: Camera) -> bool:
    aside = thing.x - camera.x + camera.bend * thing.z * thing.z
    return abs(aside) * camera.focal < 0.9 * camera.u * thing.z


def place_sides(rng: np.random.Generator, street: Street, light: Light) -> tuple[list[Thing], list[House]]:
    """Trees and houses along both sides."""
    spots, houses = [], []
    for side in (-1, 1):
        z = -4.0 * rng.random()
        built = 0.25 if rng.random() < 0.35 else 0.8
        while z < 90:
            a, b, c = rng.random(3).tolist()
            length = 7 + 9 * b
            if a < built:
                houses.append(House(side, side * (street.line + (2.0 * c if a < 0.2 else 0.0)), z, z + length))
            else:
                spots += [(side * (street.line + 1.5 + 5 * u), z + length * v) for u, v in rng.random((4, 2)).tolist()]
            z += length + (0.0 if a < 0.5 else 2 * c)
        if street.verge > 1.2 or rng.random() < 0.4:  # an avenue
            x = side * (street.kerb + 0.7 if street.verge > 1.2 else street.kerb - 0.4)
            spots += [(x + u, 5 + 8 * k + 5 * v) for k, (u, v) in enumerate((rng.random((4, 2)) - 0.5).tolist())]
    trees = [Thing('tree', objects.tree(rng, light, z < 30), x, z) for x, z in spots if 4 < z < 60]
    return trees, houses
