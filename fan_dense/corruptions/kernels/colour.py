"""Loops over grey levels: look-up, blending, and the HSV round trip."""

import numpy as np
from numba import njit, uint8

UNIT = np.arange(256) / 255.0


@njit(cache=True, nogil=True)
def lookup(image, table):
    """table[image], image (H, W, C), one table (256,) uint8 per channel."""
    out = np.empty_like(image)
    height, width, channels = image.shape
    for y in range(height):
        source, target = image[y].reshape(-1), out[y].reshape(-1)
        for c in range(channels):
            levels = table[c]
            for i in range(c, width * channels, channels):
                target[i] = levels[source[i]]
    return out


@njit(cache=True, nogil=True)
def take(image, rows, columns):
    """image[rows][:, columns], image (H, W, C), where rows only grow: one that is wanted again is copied."""
    channels = image.shape[2]
    samples = np.empty(len(columns) * channels, np.int32)
    for i in range(samples.size):
        samples[i] = columns[i // channels] * channels + i % channels
    out = np.empty((len(rows), len(columns), channels), np.uint8)
    for y in range(len(rows)):
        source, target = image[rows[y]].reshape(-1), out[y].reshape(-1)
        if y and rows[y] == rows[y - 1]:
            target[:] = out[y - 1].reshape(-1)
        else:
            for i in range(samples.size):
                target[i] = source[samples[i]]
    return out


@njit(cache=True, nogil=True)
def reverse(image):
    """image (H, W, 3) with its channels in the opposite order."""
    out = np.empty_like(image)
    for y in range(len(image)):
        source, target = image[y], out[y]
        for x in range(len(source)):
            target[x, 0], target[x, 1], target[x, 2] = source[x, 2], source[x, 1], source[x, 0]
    return out


@njit(cache=True, nogil=True)
def mean(image):
    """Mean of each channel of image (H, W, C) / 255, C up to 3, summed pixel by pixel in float64, as numpy does."""
    height, width, channels = image.shape
    flat = image.reshape(-1)
    second, third = min(1, channels - 1), min(2, channels - 1)
    a = b = c = 0.0
    for i in range(0, flat.size, channels):
        a += UNIT[flat[i]]
        b += UNIT[flat[i + second]]
        c += UNIT[flat[i + third]]
    return np.array([a, b, c])[:channels] / (height * width)


@njit(cache=True, nogil=True)
def hsv(image, saturation_gain, saturation_shift, value_shift):
    """Change S to clip(S gain + shift) and V to clip(V + shift) of image (H, W, 3), by the hexcone formulas in float64.

    Of the six sectors only the order of the channels differs: the largest becomes v, the smallest v (1 - s), and the
    middle one lies between, as far from the largest or the smallest as the hue says.
    """
    out = np.empty_like(image)
    height, width, _ = image.shape
    for y in range(height):
        source, target = image[y], out[y]
        for x in range(width):
            target[x, 0], target[x, 1], target[x, 2] = _pixel(
                UNIT[source[x, 0]],
                UNIT[source[x, 1]],
                UNIT[source[x, 2]],
                saturation_gain,
                saturation_shift,
                value_shift,
            )
    return out


@njit(cache=True, nogil=True, inline='always')
def _pixel(r, g, b, saturation_gain, saturation_shift, value_shift):
    v = max(r, g, b)
    delta = v - min(r, g, b)
    s = 0.0 if delta == 0.0 else delta / v
    h = 0.0
    if delta > 0.0:
        # where channels tie, the last of them decides
        if b == v:
            h = 4.0 + (r - g) / delta
        elif g == v:
            h = 2.0 + (b - r) / delta
        else:
            h = (g - b) / delta
        h = (h / 6.0) % 1.0
    s = min(max(s * saturation_gain + saturation_shift, 0.0), 1.0)
    v = min(max(v + value_shift, 0.0), 1.0)
    sector = np.floor(h * 6.0)
    f = h * 6.0 - sector
    top, p, q, t = _grey(v), _grey(v * (1.0 - s)), _grey(v * (1.0 - f * s)), _grey(v * (1.0 - (1.0 - f) * s))
    if sector == 0.0:
        return top, t, p
    if sector == 1.0:
        return q, top, p
    if sector == 2.0:
        return p, top, t
    if sector == 3.0:
        return p, q, top
    if sector == 4.0:
        return t, p, top
    return top, p, q


@njit(cache=True, nogil=True, inline='always')
def _grey(value):
    return uint8(min(max(value, 0.0), 1.0) * 255.0)
