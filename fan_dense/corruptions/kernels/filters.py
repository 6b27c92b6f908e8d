"""Linear filters along rows of contiguous samples. What is written through slices, numba turns into vector code.

Sums are made in the order of the published implementation, term by term, so that they round alike.
"""

import numpy as np
from numba import njit

from fan_dense.corruptions.kernels import rows as weighted

TILE = 1024  # samples: the rows that a filter needs at a time stay in the second-level cache


@njit(cache=True, nogil=True)
def separable(image, vertical, horizontal, rows, columns, divisor, out, quantise):
    """Symmetric filter along rows, then along columns, of image (H, W, C) / divisor, in the dtype of the weights.

    ``vertical`` (R + 1,) and ``horizontal`` (S + 1,) are the weights, the centre first; ``rows`` (H + 2 R,) and
    ``columns`` (W + 2 S,) say which row stands at -R..H + R - 1, and which column at -S..W + S - 1. The result goes
    to ``out`` (H, W, C); with ``quantise`` that is trunc(255 clip(result, 0, 1)).
    """
    height, width, channels = image.shape
    radius, samples = vertical.size - 1, width * channels
    pad = (horizontal.size - 1) * channels
    source, target = image.reshape(height, samples), out.reshape(height, samples)
    index = np.empty(samples + 2 * pad, np.int64)
    for i in range(index.size):
        index[i] = columns[i // channels] * channels + i % channels
    for start in range(0, samples, TILE):
        count = min(TILE, samples - start)
        ring = np.empty((2 * radius + 1, count + 2 * pad), vertical.dtype)
        smooth = np.empty(count + 2 * pad, vertical.dtype)
        sums = np.empty(count, vertical.dtype)
        for y in range(height + 2 * radius):
            _load(source[rows[y]], index[start : start + count + 2 * pad], start, pad, divisor, ring[y % len(ring)])
            if y < 2 * radius:
                continue
            weighted.scale(smooth, ring[(y - radius) % len(ring)], vertical[0])
            j = radius
            while j > 1:
                weighted.add_two_pairs(
                    smooth,
                    ring[(y - radius - j) % len(ring)],
                    ring[(y - radius + j) % len(ring)],
                    vertical[j],
                    ring[(y - radius - j + 1) % len(ring)],
                    ring[(y - radius + j - 1) % len(ring)],
                    vertical[j - 1],
                )
                j -= 2
            if j == 1:
                weighted.add_pair(
                    smooth, ring[(y - radius - 1) % len(ring)], ring[(y - radius + 1) % len(ring)], vertical[1]
                )
            weighted.scale(sums, smooth[pad : pad + count], horizontal[0])
            j = pad
            k = horizontal.size - 1
            while k > 1:
                i = j - channels
                weighted.add_two_pairs(
                    sums,
                    smooth[pad - j : pad - j + count],
                    smooth[pad + j : pad + j + count],
                    horizontal[k],
                    smooth[pad - i : pad - i + count],
                    smooth[pad + i : pad + i + count],
                    horizontal[k - 1],
                )
                j -= 2 * channels
                k -= 2
            if k == 1:
                weighted.add_pair(
                    sums, smooth[pad - j : pad - j + count], smooth[pad + j : pad + j + count], horizontal[1]
                )
            if quantise:
                _quantise(sums, target[y - 2 * radius, start : start + count])
            else:
                target[y - 2 * radius, start : start + count] = sums
    return out


@njit(cache=True, nogil=True)
def _load(row, index, start, pad, divisor, loaded):
    count = loaded.size - 2 * pad
    for i in range(pad):
        loaded[i] = row[index[i]] / divisor
        loaded[pad + count + i] = row[index[pad + count + i]] / divisor
    inner, source = loaded[pad : pad + count], row[start : start + count]
    for i in range(count):
        inner[i] = source[i] / divisor


@njit(cache=True, nogil=True)
def _quantise(values, target):
    for i in range(target.size):
        target[i] = min(max(values[i], 0.0), 1.0) * 255.0


@njit(cache=True, nogil=True)
def shifted_sum(padded, weights, shifts, pad, gain, out):
    """Sum of weights[i] * image[clamp(h - dy_i), clamp(w - dx_i)] in float64, times gain, into out (H, W, C) uint8.

    With gain 1 the sum is truncated, otherwise the product is rounded. ``padded`` (H, W + 2 pad, C) is the image with
    its first and last columns repeated; ``shifts`` (n, 2) int64 are dy and dx.
    """
    height, width, channels = out.shape
    source, target = padded.reshape(height, (width + 2 * pad) * channels), out.reshape(height, width * channels)
    sums = np.empty(width * channels)
    offsets = (pad - shifts[:, 1]) * channels
    for y in range(height):
        sums[:] = 0.0
        i = 0
        while i + 4 <= len(weights):
            weighted.add_four(
                sums,
                _shifted(source, y - shifts[i, 0], offsets[i], sums.size),
                weights[i],
                _shifted(source, y - shifts[i + 1, 0], offsets[i + 1], sums.size),
                weights[i + 1],
                _shifted(source, y - shifts[i + 2, 0], offsets[i + 2], sums.size),
                weights[i + 2],
                _shifted(source, y - shifts[i + 3, 0], offsets[i + 3], sums.size),
                weights[i + 3],
            )
            i += 4
        while i < len(weights):
            row = _shifted(source, y - shifts[i, 0], offsets[i], sums.size)
            for x in range(sums.size):
                sums[x] += weights[i] * row[x]
            i += 1
        if gain == 1.0:
            _truncate(sums, target[y])
        else:
            _round(sums, gain, target[y])
    return out


@njit(cache=True, nogil=True)
def _shifted(source, row, offset, count):
    return source[min(max(row, 0), len(source) - 1), offset : offset + count]


@njit(cache=True, nogil=True)
def _truncate(values, target):
    for i in range(target.size):
        target[i] = values[i]


@njit(cache=True, nogil=True)
def _round(values, gain, target):
    for i in range(target.size):
        target[i] = np.rint(values[i] * gain)
