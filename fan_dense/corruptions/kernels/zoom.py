"""Linear magnification as scipy.ndimage.zoom does it, corners on corners."""

import math

import numpy as np
from numba import njit


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
        rows: A tuple of (n - 1, H) arrays, what :func:`axis` returned for the other layers; columns: (n - 1, W) likewise.
    """
    height, width, channels = image.shape
    top, bottom, above, below = rows
    left, right, before, after = columns
    layers = len(top)
    out = np.empty_like(image)
    total = np.empty((width, channels), np.float32)
    line = np.empty((width, channels), np.float32)
    for y in range(height):
        for x in range(width):
            for c in range(channels):
                total[x, c] = image[y, x, c] / 255.0
        for layer in range(layers):
            _mix(image[top[layer, y]], image[bottom[layer, y]], below[layer, y], line)
            if above[layer, y] + below[layer, y] > 0:
                _stretch(line, left[layer], right[layer], before[layer], after[layer], total)
        for x in range(width):
            for c in range(channels):
                value = (np.float32(image[y, x, c] / 255.0) + total[x, c]) / np.float32(layers + 2)
                out[y, x, c] = min(value, np.float32(1)) * np.float32(255)
    return out


@njit(cache=True, nogil=True)
def _mix(first, second, weight, line):
    a, b, out = first.reshape(-1), second.reshape(-1), line.reshape(-1)
    for i in range(out.size):
        x = a[i] / np.float32(255)
        out[i] = x + (b[i] / np.float32(255) - x) * np.float32(weight)


@njit(cache=True, nogil=True)
def _stretch(line, left, right, before, after, total):
    for x in range(len(total)):
        near, far = left[x], right[x]
        b, a = np.float32(before[x]), np.float32(after[x])
        for c in range(total.shape[1]):
            total[x, c] += line[near, c] * b + line[far, c] * a
