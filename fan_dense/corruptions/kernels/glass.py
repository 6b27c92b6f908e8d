"""Glass: pixels that take the value of a neighbour, in place and one after the other."""

import numpy as np
from numba import njit, uint32

from fan_dense.corruptions.kernels.random import fill

LOW, HALF = np.uint32(0xFFFF), np.uint32(16)


@njit(cache=True, nogil=True)
def scatter(image, reach, shifts):
    """One pass over image (H, W, C), from (H - reach, W - reach) down to (reach + 1, reach + 1), in place.

    ``reach`` is the largest shift; ``shifts`` (H - 2 reach, W - 2 reach, 2) int8 are dx and dy in the order of visits.
    """
    height, width, channels = image.shape
    offsets = np.empty(width - 2 * reach, np.int32)
    for i in range(height - 2 * reach):
        row = shifts[i]
        for j in range(offsets.size):
            offsets[j] = (row[j, 1] * width + row[j, 0]) * channels
        _copy(image, height - reach - i, reach, offsets)


@njit(cache=True, nogil=True)
def scatter_random(image, reach, key, iteration):
    """:func:`scatter` with shifts from 16 random bits each, uniform on -reach..reach - 1 up to 2^-16."""
    height, width, channels = image.shape
    offsets = np.empty(width - 2 * reach, np.int32)
    words = np.empty((4, (offsets.size + 3) // 4), np.uint32)
    flat = words.reshape(-1)
    count = uint32(2 * reach)
    for i in range(height - 2 * reach):
        fill(words, key, i, iteration)
        for j in range(offsets.size):
            dx = np.int32(((flat[j] & LOW) * count) >> HALF) - np.int32(reach)
            dy = np.int32(((flat[j] >> HALF) * count) >> HALF) - np.int32(reach)
            offsets[j] = (dy * np.int32(width) + dx) * np.int32(channels)
        _copy(image, height - reach - i, reach, offsets)


@njit(cache=True, nogil=True)
def _copy(image, y, reach, offsets):
    _, width, channels = image.shape
    flat = image.reshape(-1)
    target = (y * width + width - reach) * channels
    if channels == 3:
        for offset in offsets:
            source = target + offset
            first, second, third = flat[source], flat[source + 1], flat[source + 2]
            flat[target], flat[target + 1], flat[target + 2] = first, second, third
            target -= 3
    else:
        for offset in offsets:
            flat[target] = flat[target + offset]
            target -= 1
