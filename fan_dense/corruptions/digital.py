"""Digital: contrast, elastic transform, pixelate, jpeg compression, saturate."""

import io

import numpy as np
from PIL import Image as Pillow

from fan_dense.corruptions.blur import gaussian_weights
from fan_dense.corruptions.kernels import colour, elastic, filters
from fan_dense.corruptions.registry import Image, Params, define

CONTRAST = (0.4, 0.3, 0.2, 0.1, 0.05)
PIXELATE = (0.6, 0.5, 0.4, 0.3, 0.25)
JPEG_QUALITY = (25, 18, 15, 10, 7)
ELASTIC_ALPHA = (12.5, 16.25, 21.25, 25.0, 30.0)
SATURATE = ((0.3, 0), (0.1, 0), (2, 0), (5, 0.1), (20, 0.2))  # gain, shift


@define('contrast')
def contrast(image: Image, severity: int) -> Image:
    """(x - mean) c + mean, with the mean of each channel: a function of the grey level, so a table of 256."""
    mean = colour.mean(image)
    x = np.arange(256) / 255.0
    table = np.clip((x - mean[:, None]) * CONTRAST[severity - 1] + mean[:, None], 0, 1) * 255
    return colour.lookup(image, table.astype(np.uint8))


@define('saturate', colour=True)
def saturate(image: Image, severity: int) -> Image:
    gain, shift = SATURATE[severity - 1]
    return colour.hsv(image, float(gain), float(shift), 0.0)


def _draw_elastic(image: Image, severity: int, rng) -> Params:
    height, width = image.shape[:2]
    return {'fields': [rng.uniform(-0.005 * height, 0.005 * height, (height, width)) for _ in range(2)]}


@define('elastic_transform', draw=_draw_elastic)
def elastic_transform(image: Image, severity: int, fields: list[np.ndarray]) -> Image:
    """Sample the image at coordinates that smooth random fields displace, the horizontal one drawn first."""
    dx, dy = (_displacement(field, ELASTIC_ALPHA[severity - 1]) for field in fields)
    return elastic.sample(image, dy, dx)


def _displacement(field: np.ndarray, alpha: float) -> np.ndarray:
    """alpha times the field (H, W), smoothed with sigma 0.01 H along a column and 0.01 W along a row, as float32."""
    weights = [gaussian_weights(0.01 * size, 3) for size in field.shape]
    rows, columns = (np.pad(np.arange(n), len(w) - 1, 'symmetric') for n, w in zip(field.shape, weights))
    out = np.empty((*field.shape, 1))
    filters.separable(field[:, :, None], *weights, rows, columns, 1.0, out, False)
    return (out[:, :, 0] * alpha).astype(np.float32)


@define('pixelate')
def pixelate(image: Image, severity: int) -> Image:
    height, width, _ = image.shape
    c = PIXELATE[severity - 1]
    small = _pillow(image).resize((int(width * c), int(height * c)), Pillow.Resampling.BOX)
    return np.array(small.resize((width, height), Pillow.Resampling.NEAREST)).reshape(image.shape)


@define('jpeg_compression')
def jpeg_compression(image: Image, severity: int) -> Image:
    file = io.BytesIO()
    _pillow(image).save(file, 'JPEG', quality=JPEG_QUALITY[severity - 1])
    return np.array(Pillow.open(file)).reshape(image.shape)


def _pillow(image: Image) -> Pillow.Image:
    return Pillow.fromarray(image if image.shape[2] == 3 else image[:, :, 0])
