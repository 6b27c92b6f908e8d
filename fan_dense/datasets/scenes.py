"""Small street scenes, drawn in memory: data to train, test and demonstrate with, without a download.

A scene is a pure function of (seed, split, index, size). The same scene in another size shows the same street.
"""

import zlib
from dataclasses import dataclass

import cv2
import numpy as np

from fan_dense.datasets import scene_layout as layout
from fan_dense.datasets import scene_street as street_painting
from fan_dense.datasets.scene_canvas import SUPERSAMPLING, Canvas
from fan_dense.datasets.scene_classes import IGNORE, INSTANCE_CLASSES, SEMANTIC_CLASSES, VEGETATION

SIZE = (192, 256)
SMALLEST = 32  # pixels, of a side
MIN_AREA = 1 / 512  # of the image (96 pixels at the default size); what shows less is no instance
FIRST_INSTANCE = 32  # identities on the canvas below it are semantic classes

# Standard deviation, in 1/256 of the brightness, of the fine and the coarse texture of each semantic class.
TEXTURE = {
    'road': (9, 7), 'sidewalk': (8, 8), 'building': (8, 8), 'traffic sign': (4, 3), 'vegetation': (32, 26),
    'terrain': (24, 18), 'sky': (1, 1), 'person': (10, 8), 'car': (4, 5), 'truck': (5, 6), 'bicycle': (8, 6),
}  # fmt: skip


def _by_class(values: dict) -> np.ndarray:
    """Table (256,) int16 from semantic class to a value; 0 where none is given."""
    table = np.zeros(256, np.int16)
    table[[SEMANTIC_CLASSES.index(name) for name in values]] = list(values.values())
    return table


FINE = _by_class({name: fine for name, (fine, _) in TEXTURE.items()})
COARSE = _by_class({name: coarse for name, (_, coarse) in TEXTURE.items()})
SHADED = _by_class({'road': 1, 'sidewalk': 1, 'terrain': 1})


@dataclass(frozen=True)
class Scene:
    """A picture and what is in it.

    ``image`` (H, W, 3) uint8 BGR; ``masks`` (N, H, W) bool, the visible part of each instance; ``labels`` (N,) int64
    into ``INSTANCE_CLASSES``; ``boxes`` (N, 4) float32 x1 y1 x2 y2 around the masks, x2 and y2 exclusive; ``semantic``
    (H, W) uint8 into ``SEMANTIC_CLASSES``, ``IGNORE`` where nothing is asked (poles).
    """

    image: np.ndarray
    masks: np.ndarray
    labels: np.ndarray
    boxes: np.ndarray
    semantic: np.ndarray


def draw_scene(index: int, *, split: str = 'train', size: tuple[int, int] = SIZE, seed: int = 0) -> Scene:
    """Draw scene ``index`` of a split; any name of a split gives scenes of its own.

    ``size`` is (height, width) in pixels, both at least 32; ``index`` and ``seed`` are not negative.
    """
    if min(size) < SMALLEST or index < 0 or seed < 0:
        raise ValueError(
            f'size is {size}, index {index}, seed {seed}; a size from {SMALLEST}, index and seed from 0 are expected'
        )
    key = [seed, zlib.crc32(split.encode()), index]
    rng = np.random.default_rng([*key, 0])
    light = layout.choose_light(rng)
    street = layout.choose_street(rng)
    camera = layout.choose_camera(rng, size, street)
    things = layout.place_things(rng, street, camera, light)
    trees, houses = layout.place_sides(rng, street, light)

    canvas = Canvas(size, camera, light)
    street_painting.paint_sky(canvas, rng)
    street_painting.paint_ground(canvas, rng, street)
    for house in sorted(houses, key=lambda house: -house.z0):
        street_painting.paint_house(canvas, rng, house)
    standing = [(FIRST_INSTANCE + k, thing) for k, thing in enumerate(things)] + [(VEGETATION, tree) for tree in trees]
    for ident, thing in sorted(standing, key=lambda pair: -pair[1].z):
        if thing.model.support is not None:
            canvas.parts(thing.model.support.placed(thing.x, thing.z), IGNORE, solid=False)
        canvas.parts(thing.model.placed(thing.x, thing.z, thing.heading), ident, thing.model.solid)
    canvas.flush()

    shade = street_painting.shade_on_ground(size, camera, light, [*things, *trees])
    labels = np.array([INSTANCE_CLASSES.index(thing.kind) for thing in things], np.int64)
    return develop(canvas, shade, labels, np.random.default_rng([*key, 1]))


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
    texture = FINE.take(semantic) * _grain(rng, (height, width))
    texture += COARSE.take(semantic) * ((coarse.astype(np.int16) - 128) * 2)
    light = np.where(SHADED.take(semantic), shade, np.uint8(255)).astype(np.int32)
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
