"""Elastic transform: sampling of an image at displaced coordinates."""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def sample(image, dy, dx):
    """trunc(255 x(h + dy, w + dx)) of image (H, W, C), x = image / 255 as float32; bilinear, border (c b a | a b c)."""
    height, width, channels = image.shape
    out = np.empty_like(image)
    for h in range(height):
        for w in range(width):
            y, x = _reflect(h + dy[h, w], height), _reflect(w + dx[h, w], width)
            top, left = int(np.floor(y)), int(np.floor(x))
            below, right = y - top, x - left
            bottom, east = min(top + 1, height - 1), min(left + 1, width - 1)
            top, left = max(top, 0), max(left, 0)
            for c in range(channels):
                value = _unit(image[top, left, c]) * (1 - below) * (1 - right)
                value += _unit(image[top, east, c]) * (1 - below) * right
                value += _unit(image[bottom, left, c]) * below * (1 - right)
                value += _unit(image[bottom, east, c]) * below * right
                out[h, w, c] = min(np.float32(value), np.float32(1)) * np.float32(255)
    return out


@njit(cache=True, nogil=True, inline='always')
def _unit(value):
    return np.float64(np.float32(value / 255.0))


@njit(cache=True, nogil=True)
def _reflect(coordinate, size):
    """Fold a coordinate into [-0.5, size - 0.5], where the samples mirror each other across the ends."""
    if -0.5 <= coordinate <= size - 0.5:
        return coordinate
    period = 2.0 * size
    coordinate = (coordinate + 0.5) % period
    return min(coordinate, period - coordinate) - 0.5
