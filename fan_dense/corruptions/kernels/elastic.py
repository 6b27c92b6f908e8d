"""Elastic transform: sampling of an image at displaced coordinates."""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def sample(image, dy, dx):
    """trunc(255 x(h + dy, w + dx)) of image (H, W, C), x = image / 255 as float32; bilinear, border (c b a | a b c)."""
    height, width, channels = image.shape
    out = np.empty_like(image)
    unit = np.empty(256)
    for v in range(256):
        unit[v] = np.float32(v / 255.0)
    flat = image.reshape(-1)
    for h in range(height):
        target, down, along = out[h].reshape(-1), dy[h], dx[h]
        for w in range(width):
            y, x = _reflect(h + down[w], height), _reflect(w + along[w], width)
            top, left = int(np.floor(y)), int(np.floor(x))
            below, right = y - top, x - left
            above, before = 1 - below, 1 - right
            first, second = max(top, 0) * width, min(top + 1, height - 1) * width
            left, east = max(left, 0), min(left + 1, width - 1)
            a, b = (first + left) * channels, (first + east) * channels
            c, d = (second + left) * channels, (second + east) * channels
            for channel in range(channels):
                value = unit[flat[a + channel]] * above * before + unit[flat[b + channel]] * above * right
                value += unit[flat[c + channel]] * below * before
                value += unit[flat[d + channel]] * below * right
                target[w * channels + channel] = min(np.float32(value), np.float32(1)) * np.float32(255)
    return out


@njit(cache=True, nogil=True)
def _reflect(coordinate, size):
    """Fold a coordinate into [-0.5, size - 0.5], where the samples mirror each other across the ends."""
    if -0.5 <= coordinate <= size - 0.5:
        return coordinate
    period = 2.0 * size
    coordinate = (coordinate + 0.5) % period
    return min(coordinate, period - coordinate) - 0.5
