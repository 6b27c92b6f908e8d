"""Digital: contrast, elastic transform, pixelate, jpeg compression, saturate."""

import cv2
import numpy as np
from PIL import Image as Pillow

from fan_dense.corruptions.blur import gaussian_weights
from fan_dense.corruptions.kernels import colour, displacement, elastic, filters
from fan_dense.corruptions.kernels.random import draw_key
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
    if isinstance(rng, np.random.Generator):
        return {'key': draw_key(rng)}
    height, width = image.shape[:2]
    return {'fields': [rng.uniform(-0.005 * height, 0.005 * height, (height, width)) for _ in range(2)]}


@define('elastic_transform', draw=_draw_elastic)
def elastic_transform(
    image: Image, severity: int, key: np.ndarray | None = None, fields: list[np.ndarray] | None = None
) -> Image:
    """Sample the image at coordinates that smooth random fields displace; the horizontal one is drawn first.

    A field is alpha times uniform noise of amplitude 0.005 H, smoothed with sigma 0.01 H along a column and 0.01 W
    along a row.
    """
    alpha, shape = ELASTIC_ALPHA[severity - 1], image.shape[:2]
    sigmas = [0.01 * size for size in shape]
    weights = [gaussian_weights(sigma, 3) for sigma in sigmas]
    if fields is None:
        amplitude = alpha * 0.005 * shape[0]
        dx, dy = (displacement.field(shape, amplitude, sigmas, weights, key, stream) for stream in range(2))
    else:
        rows, columns = (np.pad(np.arange(n), len(w) - 1, 'symmetric') for n, w in zip(shape, weights))
        smooth = (
            filters.separable(field[:, :, None], *weights, rows, columns, 1.0, np.empty((*shape, 1)), False)
            for field in fields
        )
        dx, dy = ((alpha * field[:, :, 0]).astype(np.float32) for field in smooth)
    return elastic.sample(image, dy, dx)


@define('pixelate')
def pixelate(image: Image, severity: int) -> Image:
    height, width, channels = image.shape
    c = PIXELATE[severity - 1]
    small = np.asarray(_pillow(image).resize((int(width * c), int(height * c)), Pillow.Resampling.BOX))
    small = small.reshape(*small.shape[:2], channels)
    return colour.take(small, _nearest(len(small), height), _nearest(small.shape[1], width))


def _nearest(size: int, count: int) -> np.ndarray:
    """Which of ``size`` samples is nearest to each of ``count``, added up step by step as Pillow does."""
    step = np.full(count, size / count)
    step[0] /= 2
    return np.cumsum(step).astype(np.int64)


@define('jpeg_compression')
def jpeg_compression(image: Image, severity: int) -> Image:
    """Encoded and decoded by OpenCV, which gives Pillow's pixels in less time; it wants the first channel last."""
    grey = image.shape[2] == 1
    quality = [cv2.IMWRITE_JPEG_QUALITY, JPEG_QUALITY[severity - 1]]
    _, code = cv2.imencode('.jpg', image if grey else colour.reverse(image), quality)
    decoded = cv2.imdecode(code, cv2.IMREAD_GRAYSCALE if grey else cv2.IMREAD_COLOR)
    return decoded.reshape(image.shape) if grey else colour.reverse(decoded)


def _pillow(image: Image) -> Pillow.Image:
    return Pillow.fromarray(image if image.shape[2] == 3 else image[:, :, 0])
