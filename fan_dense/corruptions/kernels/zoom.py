"""Linear magnification as scipy.ndimage.zoom does it, corners on corners."""

import math

import numpy as np
from numba import njit

from fan_dense.corruptions.kernels import rows as weighted


def axis(size, stretched, count):
    """Where the first ``count`` of ``stretched`` samples of an axis come from, that was ``size`` samples long.

    Of a coordinate that rounding pushes past the last sample scipy makes a zero, which is kept.

    Returns:
        (count,) int64 index of the sample before the coordinate, of the one after it, and the float64 weights of both.
    """
    coordinate = np.arange(count) * ((size - 1) / (stretched - 1))
    before = np.minimum(coordinate.astype(np.int64), size - 1)
    weight = coordinate - before
    inside = coordinate <= size - 1
    return before, np.minimum(before + 1, size - 1), (1 - weight) * inside, weight * inside


def crop_axis(size, factor):
    """:func:`axis` of the centre crop of ceil(size / factor) samples, stretched by that factor, its first ``size``."""
    crop = math.ceil(size / factor)
    before, after, *weights = axis(crop, round(crop * factor), size)
    start = (size - crop) // 2
    return before + start, after + start, *weights


def layers(size, factors):
    """:func:`crop_axis` for each factor, stacked."""
    return tuple(np.stack(part) for part in zip(*[crop_axis(size, factor) for factor in factors]))


@njit(cache=True, nogil=True)
def magnify(image, rows, columns, out):
    """out (H', W') = image (H, W) magnified; rows and columns are what :func:`axis` returned."""
    top, bottom, above, below = rows
    left, right, before, after = columns
    for y in range(len(out)):
        first, second, target = image[top[y]], image[bottom[y]], out[y]
        for x in range(target.size):
            near, far = left[x], right[x]
            value = first[near] * above[y] * before[x] + first[far] * above[y] * after[x]
            target[x] = value + second[near] * below[y] * before[x] + second[far] * below[y] * after[x]
    return out


@njit(cache=True, nogil=True)
def blur(image, rows, columns):
    """(x + sum of magnified x) / (n + 1), in float32, truncated to uint8; the first layer is x itself.

    Args:
        image: (H, W, C) uint8.
        rows: For the n - 1 other layers what :func:`axis` returned, stacked: four arrays (n - 1, H).
        columns: Likewise, four arrays (n - 1, W).
    """
    height, width, channels = image.shape
    top, bottom, above, below = rows
    left, _, before, after = columns
    out = np.empty_like(image)
    unit = np.empty((256,), np.float32)
    for v in range(256):
        unit[v] = v / 255.0
    x = np.empty((height, width * channels), np.float32)
    for y in range(height):
        source, target = image[y].reshape(-1), x[y]
        for i in range(target.size):
            target[i] = unit[source[i]]
    upper, lower = np.zeros((width + 1) * channels), np.zeros((width + 1) * channels)
    total = np.empty(width * channels, np.float32)
    for y in range(height):
        total[:] = x[y]
        for layer in range(len(top)):
            weighted.scale(upper[:-channels], x[top[layer, y]], above[layer, y])
            weighted.scale(lower[:-channels], x[bottom[layer, y]], below[layer, y])
            if channels == 3:
                _stretch_colour(upper, lower, left[layer], before[layer], after[layer], total)
            else:
                _stretch(upper, lower, left[layer], before[layer], after[layer], total)
        _finish(x[y], total, np.float32(len(top) + 2), out[y].reshape(-1))
    return out


@njit(cache=True, nogil=True)
def _stretch_colour(upper, lower, left, before, after, total):
    for x in range(left.size):
        i, b, a = 3 * left[x], before[x], after[x]
        total[3 * x] += np.float32(((upper[i] * b + upper[i + 3] * a) + lower[i] * b) + lower[i + 3] * a)
        total[3 * x + 1] += np.float32(((upper[i + 1] * b + upper[i + 4] * a) + lower[i + 1] * b) + lower[i + 4] * a)
        total[3 * x + 2] += np.float32(((upper[i + 2] * b + upper[i + 5] * a) + lower[i + 2] * b) + lower[i + 5] * a)


@njit(cache=True, nogil=True)
def _stretch(upper, lower, left, before, after, total):
    for x in range(left.size):
        i, b, a = left[x], before[x], after[x]
        total[x] += np.float32(((upper[i] * b + upper[i + 1] * a) + lower[i] * b) + lower[i + 1] * a)


@njit(cache=True, nogil=True)
def _finish(x, total, count, out):
    for i in range(out.size):
        out[i] = min((x[i] + total[i]) / count, np.float32(1)) * np.float32(255)
