"""Weather: snow, frost, fog, brightness, spatter."""

import math

import numpy as np

from fan_dense.corruptions import textures as frost_textures
from fan_dense.corruptions.blur import motion, smooth
from fan_dense.corruptions.kernels import colour, plasma, resize, zoom
from fan_dense.corruptions.kernels import snow as snowfall
from fan_dense.corruptions.kernels import spatter as drops
from fan_dense.corruptions.kernels.random import draw_key, normal_field
from fan_dense.corruptions.registry import Corruption, Image, Params, add, define

SNOW = (  # mean of the flakes, their magnification and threshold, radius and sigma of their motion, share of the image
    (0.1, 3, 0.5, 10, 4, 0.8),
    (0.2, 2, 0.5, 12, 4, 0.7),
    (0.55, 4, 0.9, 12, 8, 0.7),
    (0.55, 4.5, 0.85, 12, 8, 0.65),
    (0.55, 2.5, 0.85, 12, 12, 0.55),
)
FROST = ((1, 0.4), (0.8, 0.6), (0.7, 0.7), (0.65, 0.7), (0.6, 0.75))  # weights of the image and of the texture
BRIGHTNESS = (0.1, 0.2, 0.3, 0.4, 0.5)
FOG = ((1.5, 2), (2, 2), (2.5, 1.7), (2.5, 1.5), (3, 1.4))  # weight of the height map, decay of its roughness


def _draw_snow(image: Image, severity: int, rng) -> Params:
    """Of the flakes only those in the centre crop that is magnified are kept; a Generator draws no others."""
    mean, factor = SNOW[severity - 1][:2]
    crops = [math.ceil(size / factor) for size in image.shape[:2]]
    if isinstance(rng, np.random.Generator):
        flakes = rng.normal(mean, 0.3, crops)
    else:
        top, left = ((size - crop) // 2 for size, crop in zip(image.shape, crops))
        flakes = rng.normal(mean, 0.3, image.shape[:2])[top : top + crops[0], left : left + crops[1]].copy()
    return {'flakes': flakes, 'angle': rng.uniform(-135, -45)}


@define('snow', draw=_draw_snow, colour=True)
def snow(image: Image, severity: int, flakes: np.ndarray, angle: float) -> Image:
    """A whitened image under flakes: magnified noise above a threshold, blurred along the direction of their fall."""
    _, factor, threshold, radius, sigma, share = SNOW[severity - 1]
    shape = [round(size * factor) for size in flakes.shape]
    axes = [zoom.axis(size, stretched, stretched) for size, stretched in zip(flakes.shape, shape)]
    layer = zoom.magnify(flakes, *axes, np.empty(shape))
    snowfall.threshold(layer, threshold)
    return snowfall.cover(image, motion(layer[:, :, None], radius, sigma, angle, 255.0)[:, :, 0], share)


SPATTER = (  # mean and scale of the field, its sigma and threshold; gain of water, or sigma of mud
    (0.65, 0.3, 4, 0.69, 0.6),
    (0.65, 0.3, 3, 0.68, 0.6),
    (0.65, 0.3, 2, 0.68, 0.5),
    (0.65, 0.3, 1, 0.65, 1.5),
    (0.67, 0.4, 1, 0.65, 1.5),
)
WATER, MUD = (175, 238, 238), (63, 42, 20)


@define('brightness', colour=True)
def brightness(image: Image, severity: int) -> Image:
    return colour.hsv(image, 1.0, 0.0, BRIGHTNESS[severity - 1])


def _draw_fog(image: Image, severity: int, rng) -> Params:
    if isinstance(rng, np.random.Generator):
        return {'key': draw_key(rng)}
    size = _map_size(image)
    decay = FOG[severity - 1][1]
    steps = [(size >> level, 100 / decay**level) for level in range(size.bit_length() - 1)]
    return {'heights': [rng.uniform(-w, w, (3, size // step, size // step)) for step, w in steps]}


def _map_size(image: Image) -> int:
    return 1 << (max(image.shape[:2]) - 1).bit_length()


@define('fog', draw=_draw_fog)
def fog(image: Image, severity: int, key: np.ndarray | None = None, heights: list[np.ndarray] | None = None) -> Image:
    """(x + c m) max(x) / (max(x) + c), where m is a plasma fractal in [0, 1]."""
    weight, decay = FOG[severity - 1]
    if heights is None:
        plasma_map = plasma.from_key(_map_size(image), decay, key, *image.shape[:2])
    else:
        plasma_map = plasma.from_draws(heights, decay)
    return plasma.cover(image, *plasma_map, float(weight))


def frost(textures: str = frost_textures.OWN, name: str = 'frost') -> Corruption:
    """The corruption frost, drawn from textures of your choice; give it to :func:`corrupt` in place of a name.

    Args:
        textures: ``'fan_dense'``; ``'imagecorruptions'``, the published ones, where that package is installed; or the
            path of a folder with frost1 .. frost5 (png or jpg).
        name: What results call it.
    """

    def draw(image: Image, severity: int, rng) -> Params:
        """A texture, and where it is cropped; ``randint`` is asked for what is published."""
        randint = rng.integers if isinstance(rng, np.random.Generator) else rng.randint
        height, width = image.shape[:2]
        index = int(randint(frost_textures.COUNT))
        rows, columns = frost_textures.enlarged_shape(textures, index, height, width)
        return {'index': index, 'top': int(randint(0, rows - height)), 'left': int(randint(0, columns - width))}

    def apply(image: Image, severity: int, index: int, top: int, left: int) -> Image:
        height, width, _ = image.shape
        shape = frost_textures.enlarged_shape(textures, index, height, width)
        texture = resize.bicubic(frost_textures.texture(textures, index), shape, top, left, height, width)
        image_weight, texture_weight = FROST[severity - 1]
        return resize.blend(image, texture, float(image_weight), float(texture_weight))

    return Corruption(name, apply, draw, colour=True)


add(frost())
add(frost(frost_textures.PUBLISHED, 'frost_imagecorruptions'))


def _draw_spatter(image: Image, severity: int, rng) -> Params:
    if isinstance(rng, np.random.Generator):
        return {'key': draw_key(rng)}
    mean, scale = SPATTER[severity - 1][:2]
    return {'field': rng.normal(mean, scale, image.shape[:2])}


@define('spatter', draw=_draw_spatter, colour=True)
def spatter(image: Image, severity: int, key: np.ndarray | None = None, field: np.ndarray | None = None) -> Image:
    """Drops where a smooth random field is above a threshold: of water, lit at their rims, or of mud."""
    mean, scale, sigma, threshold, finish = SPATTER[severity - 1]
    if field is None:
        field = normal_field(image.shape[:2], mean, scale, key)
    field = smooth(field[:, :, None], sigma)[:, :, 0]
    if severity <= 3:
        return drops.water(image, field, threshold, finish, WATER)
    field = drops.above(field, threshold)
    return drops.mud(image, smooth(field[:, :, None], finish)[:, :, 0], MUD)
