"""Defocus: correlation with a disk whose rim is smoothed.

A disk smoothed by a small separable kernel is applied as what it is: a sum over the disk, in integers, which from one
row to the next changes only by the rim of the disk, and then the small kernel. Where the published kernel is cut off by
the grid that it was smoothed on, a few taps remain and are added one by one.
"""

from functools import lru_cache

import cv2
import numpy as np
from numba import njit

from fan_dense.corruptions.kernels import rows as weighted

HALF_GRID = 8  # the published kernels are made on 17 x 17 points, or on as many as a larger disk needs


def blur(image, radius, sigma):
    """Correlate image (H, W, C) uint8 with the smoothed disk, border reflect-101; truncated to uint8."""
    disk, taps, rest, groups, gain = _decomposed(radius, sigma)
    pad = max(radius + len(taps) // 2, np.abs(rest).max(initial=0))
    padded = np.pad(image, ((pad, pad), (pad, pad), (0, 0)), 'reflect')
    return _blur(padded, pad, disk, taps, rest, groups, gain, np.empty_like(image))


def published_kernel(radius, sigma):
    """The published kernel, float32: the indicator of a disk, divided by its sum and blurred where it stands."""
    disk = _indicator(radius, max(HALF_GRID, radius)).astype(np.float32)
    size = 2 * _smoothing_reach(radius) + 1
    return cv2.GaussianBlur(disk / disk.sum(), (size, size), sigma)


def _indicator(radius, half):
    y, x = np.mgrid[-half : half + 1, -half : half + 1]
    return (x**2 + y**2 <= radius**2).astype(np.float64)


def _smoothing_reach(radius):
    return 1 if radius <= HALF_GRID else 2


@lru_cache(maxsize=5)
def _decomposed(radius, sigma):
    """The published kernel as gain * (disk * taps * taps^T + rest).

    Returns:
        Half widths of the disk's rows from the centre (radius + 1,); the taps; (n, 2) int64, dy and dx of the rest, in
        groups of one weight, and for each group (end, weight); the gain, which also divides by 255, and makes the sum
        of the weights the published one, so that flat areas are truncated alike.
    """
    reach = _smoothing_reach(radius)
    kernel = np.pad(published_kernel(radius, sigma).astype(np.float64), reach)
    disk = _indicator(radius, len(kernel) // 2)
    taps = np.exp(-0.5 * np.arange(-reach, reach + 1) ** 2 / sigma**2)
    taps /= taps.sum()
    smooth = disk
    for axis in (0, 1):
        smooth = np.apply_along_axis(np.convolve, axis, smooth, taps, 'same')
    rest = kernel * disk.sum() - smooth
    rest[np.abs(rest) < 1e-4] = 0
    gain = kernel.sum() / (smooth.sum() + rest.sum()) / 255
    half_widths = np.array([int((radius**2 - dy**2) ** 0.5) for dy in range(radius + 1)])
    # by symmetry a weight occurs a multiple of four times, but for rounding
    values = rest[rest != 0]
    _, group, counts = np.unique(values.round(6), return_inverse=True, return_counts=True)
    weights = np.bincount(group, values) / counts
    shifts = (np.argwhere(rest) - len(kernel) // 2)[np.argsort(group, kind='stable')]
    return half_widths, taps, shifts, np.stack([np.cumsum(counts), weights], axis=1), gain


@njit(cache=True, nogil=True)
def _blur(padded, pad, disk, taps, rest, groups, gain, out):
    height, width, channels = out.shape
    reach, radius = len(taps) // 2, len(disk) - 1
    rows, target = padded.reshape(len(padded), -1), out.reshape(height, width * channels)
    inner, outer = width * channels, (width + 2 * reach) * channels
    left = (pad - reach) * channels
    ring = np.empty((2 * reach + 1, outer), np.uint32)
    sums = np.zeros(outer, np.uint32)
    column, total, alike = np.empty(outer), np.empty(inner), np.empty(inner, np.uint16)
    for y in range(pad - reach, pad + height + reach):
        if y == pad - reach:
            for dy in range(-radius, radius + 1):
                for dx in range(-disk[abs(dy)], disk[abs(dy)] + 1):
                    _add(sums, rows[y + dy, left + dx * channels : left + dx * channels + outer])
        else:
            _move(sums, rows, y, left, disk, channels)
        ring[y % len(ring)] = sums
        centre = y - reach
        if centre < pad:
            continue
        weighted.scale(column, ring[centre % len(ring)], taps[reach])
        for j in range(1, reach + 1):
            weighted.add_pair(column, ring[(centre - j) % len(ring)], ring[(centre + j) % len(ring)], taps[reach + j])
        middle = reach * channels
        weighted.scale(total, column[middle : middle + inner], taps[reach])
        for j in range(1, reach + 1):
            shift = j * channels
            before, after = column[middle - shift : middle - shift + inner], column[middle + shift :]
            weighted.add_pair(total, before, after, taps[reach + j])
        k = 0
        for end, weight in groups:
            alike[:] = 0
            while k < end:
                _add_four(
                    alike,
                    _shifted(rows, centre, pad, rest[k], channels, inner),
                    _shifted(rows, centre, pad, rest[k + 1], channels, inner),
                    _shifted(rows, centre, pad, rest[k + 2], channels, inner),
                    _shifted(rows, centre, pad, rest[k + 3], channels, inner),
                )
                k += 4
            weighted.add(total, alike, weight)
        row = target[centre - pad]
        for i in range(inner):
            row[i] = min(total[i] * gain, 1.0) * 255.0
    return out


@njit(cache=True, nogil=True)
def _move(sums, rows, y, left, disk, channels):
    """Bring the sums over the disk from row y - 1 to row y: add its lower rim, take off the upper one."""
    radius, count = len(disk) - 1, sums.size
    for dx in range(-radius, radius + 1):
        start = left + dx * channels
        below, above = rows[y + disk[abs(dx)]], rows[y - 1 - disk[abs(dx)]]
        _exchange(sums, below[start : start + count], above[start : start + count])


@njit(cache=True, nogil=True)
def _exchange(sums, added, removed):
    for i in range(sums.size):
        sums[i] += np.uint32(added[i]) - np.uint32(removed[i])


@njit(cache=True, nogil=True)
def _add(sums, added):
    for i in range(sums.size):
        sums[i] += np.uint32(added[i])


@njit(cache=True, nogil=True)
def _shifted(rows, y, pad, shift, channels, count):
    start = (pad + shift[1]) * channels
    return rows[y + shift[0], start : start + count]


@njit(cache=True, nogil=True)
def _add_four(sums, a, b, c, d):
    for i in range(sums.size):
        sums[i] += (np.uint16(a[i]) + np.uint16(b[i])) + (np.uint16(c[i]) + np.uint16(d[i]))
