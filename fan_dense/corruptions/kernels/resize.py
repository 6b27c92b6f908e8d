"""Bicubic enlargement and blending of frost textures."""

import numpy as np
from numba import njit


def bicubic(image, shape, top, left, height, width):
    """Rows top.. and columns left.. (height, width, 3) of image (H, W, 3) uint8 resized to ``shape``.

    As OpenCV 5 does it (A = -0.75, float32), but on the calling thread alone.
    """
    rows, row_weights = _axis(len(image), shape[0], top, height)
    columns, column_weights = _axis(image.shape[1], shape[1], left, width)
    first = rows.min()
    return _resize(image[first : rows.max() + 1], rows - first, row_weights, columns, column_weights)


def _axis(size, stretched, start, count):
    """For ``count`` of the ``stretched`` samples the (4,) source samples, clamped, and their (4,) weights."""
    coordinate = (np.arange(start, start + count) + 0.5) * (size / stretched) - 0.5
    base = np.floor(coordinate)
    index = np.clip(base.astype(np.int64)[:, None] + np.arange(-1, 3), 0, size - 1)
    t = coordinate - base
    outer, inner, mirrored = _far(t + 1), _near(t), _near(1 - t)
    return index, np.stack([outer, inner, mirrored, 1 - outer - inner - mirrored], axis=1).astype(np.float32)


def _near(t):
    return (1.25 * t - 2.25) * t * t + 1


def _far(t):
    return ((-0.75 * t + 3.75) * t - 6) * t + 3


@njit(cache=True, nogil=True)
def _resize(image, rows, row_weights, columns, column_weights):
    height, width = len(rows), len(columns)
    out = np.empty((height, width, 3), np.uint8)
    wide = np.empty((len(image), width * 3), np.float32)
    for y in range(len(image)):
        source, target = image[y], wide[y]
        for x in range(width):
            (i, j, k, m), (a, b, c, d) = columns[x], column_weights[x]
            for channel in range(3):
                value = (
                    a * source[i, channel] + b * source[j, channel] + c * source[k, channel] + d * source[m, channel]
                )
                target[3 * x + channel] = value
    for y in range(height):
        (i, j, k, m) = rows[y]
        _blend_four(wide[i], wide[j], wide[k], wide[m], row_weights[y], out[y].reshape(-1))
    return out


@njit(cache=True, nogil=True)
def _blend_four(first, second, third, fourth, weights, out):
    a, b, c, d = weights
    for i in range(out.size):
        value = first[i] * a + (second[i] * b + (third[i] * c + fourth[i] * d))
        out[i] = min(max(np.rint(value), np.float32(0)), np.float32(255))


@njit(cache=True, nogil=True)
def blend(image, texture, image_weight, texture_weight):
    """Weighted sum of two uint8 images (H, W, 3), clipped and truncated."""
    out = np.empty_like(image)
    for y in range(len(image)):
        a, b, target = image[y].reshape(-1), texture[y].reshape(-1), out[y].reshape(-1)
        for i in range(target.size):
            target[i] = min(image_weight * a[i] + texture_weight * b[i], 255.0)
    return out
