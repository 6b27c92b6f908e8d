"""Noise per sample (one channel of one pixel): from given draws, or fused with its own random words."""

import numpy as np
from numba import njit, uint8, uint32

from fan_dense.corruptions.kernels.random import fill

SHIFT, BYTE, FRACTION = np.uint32(24), np.uint32(0xFF), np.uint32(0xFFFFFF)


@njit(cache=True, nogil=True)
def add(image, noise, proportional):
    """trunc(255 clip(x + n, 0, 1)), x = image / 255; with ``proportional``, x + x n. All arrays flat."""
    out = np.empty_like(image)
    for i in range(image.size):
        x = image[i] / 255.0
        value = x + x * noise[i] if proportional else x + noise[i]
        out[i] = uint8(min(max(value, 0.0), 1.0) * 255.0)
    return out


@njit(cache=True, nogil=True)
def alias_tables(probability):
    """Walker's alias tables (Vose's construction) of the rows of an (n, 256) matrix of probabilities.

    An entry packs the probability of staying in its cell (24 bits, rounded) over the alias of the cell (8 bits).
    """
    tables = np.empty(probability.shape, np.uint32)
    for row in range(probability.shape[0]):
        mass = probability[row] * 256.0
        small, large = np.empty(256, np.int64), np.empty(256, np.int64)
        n_small, n_large = 0, 0
        for cell in range(256):
            tables[row, cell] = (FRACTION << np.uint32(8)) | uint32(cell)
            if mass[cell] < 1.0:
                small[n_small] = cell
                n_small += 1
            else:
                large[n_large] = cell
                n_large += 1
        while n_small and n_large:
            n_small -= 1
            poor, rich = small[n_small], large[n_large - 1]
            stay = min(uint32(round(mass[poor] * 2.0**24)), FRACTION)
            tables[row, poor] = (stay << np.uint32(8)) | uint32(rich)
            mass[rich] -= 1.0 - mass[poor]
            if mass[rich] < 1.0:
                n_large -= 1
                small[n_small] = rich
                n_small += 1
    return tables


@njit(cache=True, nogil=True)
def resample(image, tables, key):
    """Replace each sample v of image (H, N) by a draw from the distribution of row v of the alias tables (256, 256)."""
    height, width = image.shape
    out = np.empty_like(image)
    words = np.empty((4, (width + 3) // 4), np.uint32)
    flat = words.reshape(-1)
    for y in range(height):
        fill(words, key, y, 0)
        source, target = image[y], out[y]
        for i in range(width):
            word = flat[i]
            cell = word >> SHIFT
            entry = tables[source[i], cell]
            target[i] = uint8(cell) if (word & FRACTION) < (entry >> np.uint32(8)) else uint8(entry & BYTE)
    return out


@njit(cache=True, nogil=True)
def impulse(image, share, key):
    """Set samples of image (H, N) to 255 or 0, each with probability share / 2."""
    height, width = image.shape
    out = np.empty_like(image)
    words = np.empty((4, (width + 3) // 4), np.uint32)
    flat = words.reshape(-1)
    salt = uint32(share / 2 * 2.0**32)
    pepper = uint32(2.0**32 - share / 2 * 2.0**32)
    for y in range(height):
        fill(words, key, y, 0)
        source, target = image[y], out[y]
        for i in range(width):
            value = uint8(0) if flat[i] >= pepper else source[i]
            target[i] = uint8(255) if flat[i] < salt else value
    return out
