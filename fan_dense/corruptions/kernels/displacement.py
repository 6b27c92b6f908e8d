"""Smooth random fields, from knots: white noise smoothed by a wide Gaussian, evaluated on a grid and interpolated.

The Gaussians of the elastic transform are ten and more pixels wide, so the smoothed field is needed only every third
of sigma. Between these knots cubic interpolation errs by less than half a percent of the field's standard deviation.
"""

import numpy as np
from numba import njit

from fan_dense.corruptions.kernels import rows as weighted
from fan_dense.corruptions.kernels.random import fill

KNOTS_PER_SIGMA = 3


def field(shape, amplitude, sigmas, weights, key, stream):
    """Uniform noise in (-amplitude, amplitude), smoothed, (H, W) float32.

    Args:
        shape: (H, W).
        amplitude: Of the noise; its values are 65536 even steps.
        sigmas: Of the two Gaussians, along a column and along a row.
        weights: Their weights from the centre outwards, (R + 1,) and (S + 1,); the border is symmetric (c b a | a b c).
        key: See :func:`fan_dense.corruptions.kernels.random.fill`.
        stream: Tells the fields of one key apart.
    """
    noise = _noise(shape, key, stream)
    gaps = [max(1, int(sigma / KNOTS_PER_SIGMA)) for sigma in sigmas]
    counts = [(size - 1) // gap + 4 for size, gap in zip(shape, gaps)]  # from one gap before the image to two after it
    rows, columns = (
        np.pad(np.arange(size), (gap + len(w) - 1, gap * count + len(w)), 'symmetric')
        for size, gap, count, w in zip(shape, gaps, counts, weights)
    )
    vertical = (weights[0] * (amplitude / 32768)).astype(np.float32)
    knots = np.empty(counts, np.float32)
    _smooth(noise, vertical, weights[1].astype(np.float32), rows, columns, gaps[0], gaps[1], knots)
    return _interpolate(knots, _cubic(gaps[0]), _cubic(gaps[1]), np.empty(shape, np.float32))


def _cubic(gap):
    """(gap, 4) weights of Lagrange's cubic at 0, 1/gap, ... between the second and the third of four knots."""
    t = np.arange(gap) / gap
    first, fourth = -t * (t - 1) * (t - 2) / 6, (t + 1) * t * (t - 1) / 6
    second, third = (t + 1) * (t - 1) * (t - 2) / 2, -(t + 1) * t * (t - 2) / 2
    return np.stack([first, second, third, fourth], axis=1).astype(np.float32)


@njit(cache=True, nogil=True)
def _noise(shape, key, stream):
    """One of 65536 even steps around 0 for each pixel, (H, W) float32."""
    height, width = shape
    noise = np.empty(shape, np.float32)
    words = np.empty((4, (width + 7) // 8), np.uint32)
    steps = words.reshape(-1).view(np.uint16)
    for y in range(height):
        fill(words, key, y, stream)
        row = noise[y]
        for x in range(width):
            row[x] = np.float32(steps[x]) - np.float32(32767.5)
    return noise


@njit(cache=True, nogil=True)
def _smooth(noise, vertical, horizontal, rows, columns, row_gap, column_gap, knots):
    radius, reach = vertical.size - 1, horizontal.size - 1
    padded = column_gap * (knots.shape[1] + 2 * reach // column_gap + 2)
    smooth, phases = np.empty(noise.shape[1], np.float32), np.empty((column_gap, padded // column_gap), np.float32)
    for k in range(len(knots)):
        centre = k * row_gap + radius
        weighted.scale(smooth, noise[rows[centre]], vertical[0])
        for j in range(1, radius + 1):
            weighted.add_pair(smooth, noise[rows[centre - j]], noise[rows[centre + j]], vertical[j])
        for phase in range(column_gap):
            row = phases[phase]
            for i in range(row.size):
                row[i] = smooth[columns[min(i * column_gap + phase, columns.size - 1)]]
        total = knots[k]
        total[:] = 0
        for j in range(2 * reach + 1):
            start = j // column_gap
            weighted.add(total, phases[j % column_gap][start : start + total.size], horizontal[abs(j - reach)])


@njit(cache=True, nogil=True)
def _interpolate(knots, row_weights, column_weights, out):
    line = np.empty(knots.shape[1], np.float32)
    for y in range(len(out)):
        k = y // len(row_weights)
        _combine(knots[k], knots[k + 1], knots[k + 2], knots[k + 3], row_weights[y % len(row_weights)], line)
        gap = len(column_weights)
        for phase in range(gap):
            target = out[y, phase::gap]
            n = target.size
            _combine(line[:n], line[1 : n + 1], line[2 : n + 2], line[3 : n + 3], column_weights[phase], target)
    return out


@njit(cache=True, nogil=True)
def _combine(first, second, third, fourth, weights, out):
    a, b, c, d = weights
    for i in range(out.size):
        out[i] = a * first[i] + b * second[i] + c * third[i] + d * fourth[i]
