"""Weather: snow, frost, fog, brightness, spatter."""

import numpy as np

from fan_dense.corruptions.kernels import colour, plasma
from fan_dense.corruptions.kernels.random import draw_key
from fan_dense.corruptions.registry import Image, Params, define

BRIGHTNESS = (0.1, 0.2, 0.3, 0.4, 0.5)
FOG = ((1.5, 2), (2, 2), (2.5, 1.7), (2.5, 1.5), (3, 1.4))  # weight of the height map, decay of its roughness


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
        height_map = plasma.from_key(_map_size(image), decay, key)
    else:
        height_map = plasma.from_draws(heights, decay)
    return plasma.cover(image, height_map, float(weight))
