"""Counter-based random words: Philox4x32 with ten rounds (Salmon et al., Parallel random numbers, SC 2011).

A word is a function of the key, the row, the stream and the position in the row, so a compiled loop makes its random
numbers where it needs them, in registers, instead of reading an array. Philox4x32-10 passes all of TestU01's BigCrush.
"""

from functools import cache
from statistics import NormalDist

import numpy as np
from numba import njit, uint32, uint64

ROUNDS = 10
M0, M1 = np.uint32(0xD2511F53), np.uint32(0xCD9E8D57)
W0, W1 = np.uint32(0x9E3779B9), np.uint32(0xBB67AE85)
HALF = np.uint64(32)


def draw_key(rng: np.random.Generator) -> np.ndarray:
    """Two 32-bit words, the key of :func:`fill`."""
    return rng.integers(0, 2**32, size=2, dtype=np.uint32)


@njit(cache=True, nogil=True)
def fill(words, key, row, stream):
    """Fill words (4, n) uint32 with the Philox blocks of the counters (0..n-1, row, stream, 0), one block a column."""
    first, second, third, fourth = words[0], words[1], words[2], words[3]
    for i in range(first.size):
        c0, c1, c2, c3 = uint32(i), uint32(row), uint32(stream), uint32(0)
        k0, k1 = key[0], key[1]
        for _ in range(ROUNDS):
            p0 = uint64(M0) * uint64(c0)
            p1 = uint64(M1) * uint64(c2)
            c0, c1, c2, c3 = uint32(p1 >> HALF) ^ c1 ^ k0, uint32(p1), uint32(p0 >> HALF) ^ c3 ^ k1, uint32(p0)
            k0 = uint32(k0 + W0)
            k1 = uint32(k1 + W1)
        first[i] = c0
        second[i] = c1
        third[i] = c2
        fourth[i] = c3


def normal_field(shape, mean, scale, key):
    """Normal numbers (H, W) float32, each one of 65536 quantiles, picked by 16 random bits."""
    return _look_up(shape, (mean + scale * _normal_table()).astype(np.float32), key)


@cache
def _normal_table():
    """65536 quantiles of the normal distribution, the midpoints of equal shares, with variance 1."""
    upper = np.array([NormalDist().inv_cdf((i + 0.5) / 65536) for i in range(32768, 65536)])
    table = np.concatenate([-upper[::-1], upper])
    return table / table.std()


@njit(cache=True, nogil=True)
def _look_up(shape, table, key):
    height, width = shape
    out = np.empty(shape, np.float32)
    words = np.empty((4, (width + 7) // 8), np.uint32)
    index = words.reshape(-1).view(np.uint16)
    for y in range(height):
        fill(words, key, y, 0)
        row = out[y]
        for x in range(width):
            row[x] = table[index[x]]
    return out
