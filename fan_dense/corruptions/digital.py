"""Digital: contrast, elastic transform, pixelate, jpeg compression, saturate."""

import io

import numpy as np
from PIL import Image as Pillow

from fan_dense.corruptions.kernels import colour
from fan_dense.corruptions.registry import Image, define

CONTRAST = (0.4, 0.3, 0.2, 0.1, 0.05)
PIXELATE = (0.6, 0.5, 0.4, 0.3, 0.25)
JPEG_QUALITY = (25, 18, 15, 10, 7)
SATURATE = ((0.3, 0), (0.1, 0), (2, 0), (5, 0.1), (20, 0.2))  # gain, shift


@define('contrast')
def contrast(image: Image, severity: int) -> Image:
    """(x - mean) c + mean, with the mean of each channel: a function of the grey level, so a table of 256."""
    mean = colour.sums(image) / (image.shape[0] * image.shape[1] * 255.0)
    x = np.arange(256) / 255.0
    table = np.clip((x - mean[:, None]) * CONTRAST[severity - 1] + mean[:, None], 0, 1) * 255
    return colour.lookup(image, table.astype(np.uint8))


@define('saturate', colour=True)
def saturate(image: Image, severity: int) -> Image:
    gain, shift = SATURATE[severity - 1]
    return colour.hsv(image, float(gain), float(shift), 0.0)


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
