"""Small street scenes, drawn in memory: data to train, test and demonstrate with, without a download.

A scene is a pure function of (seed, split, index, size). The same scene in another size shows the same street.
"""

import zlib
from dataclasses import dataclass

import cv2
import numpy as np

from fan_dense.datasets import scene_objects as objects
from fan_dense.datasets import scene_street as street_of
from fan_dense.datasets.scene_canvas import SUPERSAMPLING, Camera, Canvas, Light

# The names and colours are those of Cityscapes. A bicycle includes who rides it, a traffic sign may be a traffic light.
PALETTE = {
    'road': (128, 64, 128),
    'sidewalk': (244, 35, 232),
    'building': (70, 70, 70),
    'traffic sign': (220, 220, 0),
    'vegetation': (107, 142, 35),
    'terrain': (152, 251, 152),
    'sky': (70, 130, 180),
    'person': (220, 20, 60),
    'car': (0, 0, 142),
    'truck': (0, 0, 70),
    'bicycle': (119, 11, 32),
}
SEMANTIC_CLASSES = tuple(PALETTE)
SEMANTIC_PALETTE = [list(colour) for colour in PALETTE.values()]
INSTANCE_CLASSES = ('person', 'bicycle', 'car', 'truck', 'traffic sign')
INSTANCE_PALETTE = [PALETTE[name] for name in INSTANCE_CLASSES]
IGNORE = 255
FIRST_INSTANCE = 32  # identities below are semantic classes
SIZE = (192, 256)
MIN_AREA = 1 / 2048  # of the image; what shows less is no instance

#: Standard deviation, in 1/256 of the brightness, of the fine and the coarse texture of each semantic class.
TEXTURE = {
    'road': (9, 7), 'sidewalk': (8, 8), 'building': (8, 8), 'traffic sign': (4, 3), 'vegetation': (32, 26),
    'terrain': (24, 18), 'sky': (1, 1), 'person': (10, 8), 'car': (4, 5), 'truck': (5, 6), 'bicycle': (8, 6),
}  # fmt: skip

_FINE, _COARSE, _GROUND = (np.zeros(256, np.int16) for _ in range(3))
_FINE[: len(SEMANTIC_CLASSES)] = [TEXTURE[name][0] for name in SEMANTIC_CLASSES]
_COARSE[: len(SEMANTIC_CLASSES)] = [TEXTURE[name][1] for name in SEMANTIC_CLASSES]
_GROUND[[SEMANTIC_CLASSES.index(name) for name in ('road', 'sidewalk', 'terrain')]] = 1

NOON = Light(
    (225, 165, 95),
    (245, 225, 195),
    (250, 250, 250),
    (1.0, 1.0, 1.0),
    (240, 222, 200),
    260,
    0.45,
    False,
    (0.5, 0.8, -0.33),
)
MORNING = Light(
    (215, 180, 140),
    (190, 215, 245),
    (215, 230, 255),
    (0.78, 0.93, 1.08),
    (205, 220, 238),
    110,
    0.4,
    False,
    (-0.74, 0.55, -0.38),
)
OVERCAST = Light(
    (190, 182, 176),
    (222, 220, 216),
    (212, 208, 205),
    (0.86, 0.84, 0.82),
    (215, 212, 208),
    120,
    0.0,
    False,
    (0.0, 0.95, -0.3),
)
DUSK = Light(
    (120, 80, 75),
    (110, 150, 235),
    (130, 120, 190),
    (0.62, 0.58, 0.66),
    (130, 135, 185),
    140,
    0.15,
    True,
    (0.8, 0.5, 0.33),
)
NIGHT = Light(
    (48, 30, 22), (80, 62, 52), (60, 50, 46), (0.42, 0.38, 0.36), (58, 48, 42), 160, 0.0, True, (0.0, 0.95, -0.3)
)
HOURS = (NOON, MORNING, OVERCAST, DUSK, NIGHT)
HOUR_SHARES = (0.32, 0.58, 0.8, 0.93, 1.0)  # cumulative


@dataclass(frozen=True)
class Scene:
    """A picture and what is in it.

    ``image`` (H, W, 3) uint8 BGR; ``masks`` (N, H, W) bool, the visible part of each instance; ``labels`` (N,) into
    ``INSTANCE_CLASSES``; ``boxes`` (N, 4) float32 x1 y1 x2 y2 around the masks, x2 and y2 exclusive; ``semantic``
    (H, W) uint8 into ``SEMANTIC_CLASSES``, ``IGNORE`` where nothing is asked (poles).
    """

    image: np.ndarray
    masks: np.ndarray
    labels: np.ndarray
    boxes: np.ndarray
    semantic: np.ndarray


@dataclass(frozen=True)
class Thing:
    """What stands where: class index (None for a tree), model, position in metres and heading (a unit vector)."""

    label: int | None
    model: objects.Model
    x: float
    z: float
    heading: tuple[float, float] = objects.AHEAD


def draw_scene(index: int, *, split: str = 'train', size: tuple[int, int] = SIZE, seed: int = 0) -> Scene:
    """Draw scene ``index`` of a split. ``size`` is (height, width) in pixels, both at least 32."""
    if index < 0 or min(size) < 32:
        raise ValueError(f'index >= 0 and a size of at least 32x32 expected, got index {index} and size {tuple(size)}')
    key = [seed, zlib.crc32(split.encode()), index]
    rng = np.random.default_rng([*key, 0])
    light = HOURS[int(np.searchsorted(HOUR_SHARES, rng.random(), side='right'))]
    if rng.random() < 0.5:  # the sun from the other side
        light = Light(**{**vars(light), 'sun': (-light.sun[0], *light.sun[1:])})
    widths = rng.random(3).tolist()
    street = street_of.Street(3.6 + 2.6 * widths[0], 2.0 + 2.0 * widths[1], max(0.0, 7 * widths[2] - 1.5))
    camera = street_of.camera_over(rng, size, street)
    canvas = Canvas(size, camera, light)
    things = place_things(rng, street, camera, light)
    trees, houses = place_sides(rng, street, light)

    street_of.paint_sky(canvas, rng, int(camera.v))
    street_of.paint_ground(canvas, rng, street)
    standing = [*things, *trees]
    casters = [(t.model.footprint(t.x, t.z, t.heading), t.model.height) for t in standing if t.z < 40]
    shade = street_of.shade_ground(camera, light, casters, size)
    for side, x, z0, z1 in sorted(houses, key=lambda house: -house[2]):
        street_of.paint_house(canvas, rng, side, x, z0, z1)
    for k in sorted(range(len(standing)), key=lambda k: -standing[k].z):
        paint_thing(canvas, standing[k], FIRST_INSTANCE + k if k < len(things) else street_of.VEGETATION)
    canvas.flush()
    return develop(
        canvas, shade, np.array([thing.label for thing in things], np.int64), np.random.default_rng([*key, 1])
    )


def place_things(rng: np.random.Generator, street, camera: Camera, light: Light) -> list[Thing]:
    """Choose what is on the street and where; nothing stands in anything else."""
    things, taken = [], []
    counts = rng.integers((0, 0, 1, 0, 0), (5, 4, 5, 3, 4))
    order = [label for label in (3, 2, 1, 0, 4) for _ in range(int(counts[label]))]
    makers = (objects.person, objects.bicycle, objects.car, objects.truck, objects.sign)
    reach = ((4.0, 17.0), (4.5, 16.0), (5.0, 26.0), (8.0, 28.0), (4.0, 14.0))  # metres, by class
    for label in order:
        model = makers[label](rng, light)
        for _ in range(6):
            where, lane, depth, jitter = rng.random(4).tolist()
            side = 1 if where < 0.5 else -1
            near, far = reach[label]
            z = near + (far - near) * depth * (0.4 + 0.6 * depth) + model.length / 2
            heading = objects.AHEAD
            if label in (2, 3):
                parked = lane < 0.4
                x = side * (street.road - 1.2 if parked else street.road * 0.45) + (jitter - 0.5) * 0.4
                askew = (jitter - 0.5) * 0.12
                heading = (askew, side * (1 - askew * askew) ** 0.5)  # traffic keeps right
                if lane > 0.86:
                    x, heading = side * street.road * 0.4, (1.0 if jitter < 0.5 else -1.0, 0.0)
            elif label == 4:
                x = side * (street.road + 0.5)
            elif lane < 0.65:
                x = side * (street.road + 0.4 + (street.sidewalk - 0.6) * jitter)
            else:
                x = (2 * jitter - 1) * street.road * 0.9
            long, wide = (model.length, model.width) if heading[1] else (model.width, model.length)
            space = (x - wide / 2 - 0.25, x + wide / 2 + 0.25, z - long / 2 - 0.4, z + long / 2 + 0.4)
            inside = abs(x - camera.x + camera.bend * z * z) * camera.focal < 0.9 * camera.u * z
            if inside and all(space[0] > t[1] or t[0] > space[1] or space[2] > t[3] or t[2] > space[3] for t in taken):
                taken.append(space)
                things.append(Thing(label, model, x, z, heading))
                break
    return things


def place_sides(rng: np.random.Generator, street, light: Light) -> tuple[list[Thing], list[tuple]]:
    """Trees, and houses as (side, x, z0, z1), along both sides."""
    spots, houses = [], []
    for side in (-1, 1):
        z = -4.0 * rng.random()
        wooded = rng.random() < 0.35
        while z < 90:
            kind, a, b = rng.random(3).tolist()
            length = 7 + 9 * a
            if kind < (0.25 if wooded else 0.8):
                houses.append((side, side * (street.line + 2.0 * b * (kind < 0.2)), z, z + length))
            else:
                spots += [(side * (street.line + 1.5 + 5 * u), z + length * v) for u, v in rng.random((4, 2)).tolist()]
            z += length + (0.0 if kind < 0.5 else 2 * b)
        if street.verge > 1.2 or rng.random() < 0.4:
            x = side * (street.kerb + 0.7 if street.verge > 1.2 else street.kerb - 0.4)
            spots += [(x + a, 5 + 8 * k + 5 * b) for k, (a, b) in enumerate((rng.random((4, 2)) - 0.5).tolist())]
    trees = [Thing(None, objects.tree(rng, light, z < 30), x, z) for x, z in spots if 4 < z < 60]
    return trees, houses


def paint_thing(canvas: Canvas, thing: Thing, ident: int) -> None:
    if thing.model.support is not None:
        canvas.parts(thing.model.support.placed(thing.x, thing.z), IGNORE, solid=False)
    canvas.parts(thing.model.placed(thing.x, thing.z, thing.heading), ident, thing.model.solid)


def develop(canvas: Canvas, shade: np.ndarray, labels: np.ndarray, rng: np.random.Generator) -> Scene:
    """From the painted canvas and the light (H, W) on the ground to the picture and its ground truth."""
    height, width = shade.shape
    idents = np.ascontiguousarray(canvas.pixels[::SUPERSAMPLING, ::SUPERSAMPLING, 3])
    meaning = np.full(256, IGNORE, np.uint8)
    meaning[: len(SEMANTIC_CLASSES)] = np.arange(len(SEMANTIC_CLASSES))
    classes = [SEMANTIC_CLASSES.index(INSTANCE_CLASSES[label]) for label in labels.tolist()]
    meaning[FIRST_INSTANCE : FIRST_INSTANCE + len(labels)] = classes
    semantic = meaning.take(idents)

    image = cv2.resize(canvas.pixels, (width, height), interpolation=cv2.INTER_AREA)[..., :3]
    image = expose(image, shade, semantic, rng)

    masks = idents == (FIRST_INSTANCE + np.arange(len(labels), dtype=np.uint8))[:, None, None]
    seen = np.bincount(idents.ravel(), minlength=256)[FIRST_INSTANCE:][: len(labels)] >= MIN_AREA * height * width
    masks, labels = masks[seen], labels[seen]
    return Scene(image, masks, labels, boxes_of(masks), semantic)


def expose(image: np.ndarray, shade: np.ndarray, semantic: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Shadows, surface texture, exposure and sensor noise. Integers throughout, so the same everywhere."""
    height, width = semantic.shape
    coarse = np.frombuffer(rng.bytes((height // 4 + 1) * (width // 4 + 1)), np.uint8)
    coarse = cv2.resize(coarse.reshape(height // 4 + 1, -1), (width, height), interpolation=cv2.INTER_LINEAR_EXACT)
    texture = _FINE.take(semantic) * _grain(rng, (height, width))
    texture += _COARSE.take(semantic) * ((coarse.astype(np.int16) - 128) * 2)
    light = np.where(_GROUND.take(semantic), shade, np.uint8(255)).astype(np.int32)
    factor = np.clip((256 + (texture >> 7)) * light * int(rng.integers(215, 290)) >> 17, 0, 255)  # 128 is neutral
    noise = _grain(rng, (height, width, 3)) * np.int16(rng.integers(2, 7)) >> 7
    lit = (image.astype(np.uint16) * factor.astype(np.uint16)[..., None] >> 7).astype(np.int16)
    return np.clip(lit + noise, 0, 255).astype(np.uint8)


def _grain(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Noise (int16) in -255..255 of mean 0 and standard deviation 104: the sum of two bytes, a triangle."""
    pairs = np.frombuffer(rng.bytes(2 * int(np.prod(shape))), np.dtype('<u2'))
    return ((pairs & 255) + (pairs >> 8)).astype(np.int16).reshape(shape) - np.int16(255)


def boxes_of(masks: np.ndarray) -> np.ndarray:
    """Boxes (N, 4) float32 around masks (N, H, W), none of which is empty; the far edges are exclusive."""
    if not len(masks):
        return np.zeros((0, 4), np.float32)
    columns, rows = masks.any(axis=1), masks.any(axis=2)
    x1, y1 = columns.argmax(axis=1), rows.argmax(axis=1)
    x2 = masks.shape[2] - columns[:, ::-1].argmax(axis=1)
    y2 = masks.shape[1] - rows[:, ::-1].argmax(axis=1)
    return np.stack([x1, y1, x2, y2], axis=1).astype(np.float32)
