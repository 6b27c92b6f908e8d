"""Snow: flakes over a whitened image."""

import numpy as np
from numba import njit

UNIT = np.arange(256) / 255.0
UNIT32 = UNIT.astype(np.float32)


@njit(cache=True, nogil=True)
def threshold(layer, limit):
    """In place: values below the limit become 0, the others are cut at 1."""
    flat = layer.reshape(-1)
    for i in range(flat.size):
        flat[i] = 0.0 if flat[i] < limit else min(flat[i], 1.0)


@njit(cache=True, nogil=True)
def cover(image, flakes, share):
    """m x + (1 - m) max(x, 1.5 gray + 0.5) + flakes + flakes turned by 180 degrees.

    Image (H, W, 3), flakes (H, W) uint8; m is ``share``. The first two terms are float32, as published.
    """
    height, width, _ = image.shape
    out = np.empty_like(image)
    m, rest = np.float32(share), np.float32(1 - share)
    for y in range(height):
        source, target = image[y], out[y]
        falling, turned = flakes[y], flakes[height - 1 - y]
        for x in range(width):
            r, g, b = UNIT32[source[x, 0]], UNIT32[source[x, 1]], UNIT32[source[x, 2]]
            gray = _fused(b, np.float32(0.114), _fused(r, np.float32(0.299), g * np.float32(0.587)))
            pale = gray * np.float32(1.5) + np.float32(0.5)
            first, second = UNIT[falling[x]], UNIT[turned[width - 1 - x]]
            target[x, 0] = min(m * r + rest * max(r, pale) + first + second, 1.0) * 255.0
            target[x, 1] = min(m * g + rest * max(g, pale) + first + second, 1.0) * 255.0
            target[x, 2] = min(m * b + rest * max(b, pale) + first + second, 1.0) * 255.0
    return out


@njit(cache=True, nogil=True, inline='always')
def _fused(a, b, c):
    """a b + c, rounded once to float32, as OpenCV's grey values are."""
    return np.float32(np.float64(a) * np.float64(b) + np.float64(c))
