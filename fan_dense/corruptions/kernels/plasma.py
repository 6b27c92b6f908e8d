"""Fog: a plasma fractal by the diamond-square algorithm on a torus, and its blending with an image."""

import numpy as np
from numba import njit, uint8

from fan_dense.corruptions.kernels.random import fill


def from_draws(heights, decay):
    """Plasma map (N, N) float32 and its least and greatest height, from published draws.

    Args:
        heights: For each step, coarse to fine, (3, n, n) draws: square centres, midpoints on rows and on columns.
        decay: What the amplitude is divided by after each step.
    """
    grid = np.zeros((1, 1), np.float32)
    for level, draws in enumerate(heights):
        grid = _refine(grid, draws, 100 / decay**level)
    return grid, grid.min(), grid.max()


def from_key(size, decay, key, height, width):
    """The first (height, width) of a plasma map (size, size), and the least and greatest height of all of it."""
    grid = np.zeros((1, 1), np.float32)
    levels = size.bit_length() - 1
    for level in range(levels):
        shape = (height, width) if level == levels - 1 else (2 << level, 2 << level)
        grid, low, high = _refine_random(grid, np.float32((100 / decay**level) ** 2), key, level, *shape)
    return grid, low, high


@njit(cache=True, nogil=True)
def _refine(coarse, draws, amplitude):
    """One diamond-square step: (n, n) to (2n, 2n). A new point is the mean of four neighbours + amplitude * draw."""
    n = len(coarse)
    fine = np.empty((2 * n, 2 * n), np.float32)
    for y in range(n):
        below = coarse[(y + 1) % n]
        for x in range(n):
            east = (x + 1) % n
            total = (coarse[y, x] + below[x]) + (coarse[y, east] + below[east])
            fine[2 * y + 1, 2 * x + 1] = total / np.float32(4) + amplitude * draws[0, y, x]
    for y in range(n):
        below, above = coarse[(y + 1) % n], fine[2 * y - 1]
        for x in range(n):
            east = (x + 1) % n
            centre, west = fine[2 * y + 1, 2 * x + 1], fine[2 * y + 1, 2 * x - 1]
            row = (centre + above[2 * x + 1]) + (coarse[y, x] + coarse[y, east])
            column = (centre + west) + (coarse[y, x] + below[x])
            fine[2 * y, 2 * x] = coarse[y, x]
            fine[2 * y, 2 * x + 1] = row / np.float32(4) + amplitude * draws[1, y, x]
            fine[2 * y + 1, 2 * x] = column / np.float32(4) + amplitude * draws[2, y, x]
    return fine


@njit(cache=True, nogil=True)
def _refine_random(coarse, amplitude, key, level, height, width):
    """:func:`_refine`, where a draw is made of 16 random bits: amplitude times one of 65536 even steps in (-1, 1).

    Of the result only (height, width) is kept. The map is as large as the longer side of an image, and square.
    """
    n = len(coarse)
    fine = np.empty((height, width), np.float32)
    words = np.empty((4, (n + 7) // 8), np.uint32)
    draws = words.reshape(-1).view(np.uint16)[:n]
    scale = amplitude / np.float32(32768)
    mean, moved = np.empty(n, np.float32), np.empty(n, np.float32)
    across, down = np.empty(n, np.float32), np.empty(n, np.float32)
    centre, above = np.empty(n, np.float32), np.empty(n, np.float32)
    lows, highs = np.full(n, np.inf, np.float32), np.full(n, -np.inf, np.float32)
    for y in range(-1, n):  # the map is a torus: above its first row is its last
        here, below = coarse[y], coarse[(y + 1) % n]
        centre, above = above, centre
        mean[:] = (here + below) / np.float32(4)
        _roll(mean, -1, moved)
        fill(words, key, 3 * (y % n), level)
        _place(centre, mean, moved, draws, scale)
        if y == -1:
            continue
        fill(words, key, 3 * y + 2, level)
        _roll(centre, 1, moved)
        _place(down, mean, (centre + moved) / np.float32(4), draws, scale)
        fill(words, key, 3 * y + 1, level)
        _roll(here, -1, moved)
        mean[:] = (here + moved) / np.float32(4)
        _place(across, mean, (centre + above) / np.float32(4), draws, scale)
        for row in (here, across, down, centre):
            _widen(row, lows, highs)
        if 2 * y < height:
            _interleave(here, across, fine[2 * y])
        if 2 * y + 1 < height:
            _interleave(down, centre, fine[2 * y + 1])
    return fine, lows.min(), highs.max()


@njit(cache=True, nogil=True)
def _interleave(even, odd, row):
    first, second = row[0::2], row[1::2]
    for x in range(first.size):
        first[x] = even[x]
    for x in range(second.size):
        second[x] = odd[x]


@njit(cache=True, nogil=True)
def _widen(row, lows, highs):
    for x in range(row.size):
        lows[x] = min(lows[x], row[x])
        highs[x] = max(highs[x], row[x])


@njit(cache=True, nogil=True)
def _place(target, mean, other, draws, scale):
    for x in range(target.size):
        target[x] = (mean[x] + other[x]) + scale * (np.float32(draws[x]) - np.float32(32767.5))


@njit(cache=True, nogil=True)
def _roll(row, shift, rolled):
    if shift < 0:
        rolled[:-1] = row[1:]
        rolled[-1] = row[0]
    else:
        rolled[1:] = row[:-1]
        rolled[0] = row[-1]


@njit(cache=True, nogil=True)
def cover(image, heights, low, high, weight):
    """(x + weight m) max(x) / (max(x) + weight), truncated to uint8; m is (heights - low) / (high - low)."""
    height, width, channels = image.shape
    brightest = image.max() / 255.0
    span = high - low
    out = np.empty_like(image)
    fog = np.empty(width * channels)
    for y in range(height):
        row = heights[y]
        for x in range(width):
            value = weight * ((row[x] - low) / span)
            for c in range(channels):
                fog[x * channels + c] = value
        source, target = image[y].reshape(-1), out[y].reshape(-1)
        for i in range(fog.size):
            value = (source[i] / 255.0 + fog[i]) * brightest / (brightest + weight)
            target[i] = uint8(min(max(value, 0.0), 1.0) * 255.0)
    return out
