"""What drops of water are made of, on (H, W) images: Canny's edges, 3 x 3 stencils, histogram equalisation.

They are defined as in OpenCV, whose own would start a pool of threads.
"""

import numpy as np
from numba import njit

TAN_22 = int(0.4142135623730950488 * (1 << 15) + 0.5)
WEAK, EDGE = np.uint8(1), np.uint8(2)


@njit(cache=True, nogil=True)
def canny(image, low, high):
    """1 on edges of a uint8 image, else 0: Sobel 3 x 3 (border repeated), L1 norm, two thresholds, 8-connected."""
    height, width = image.shape
    pitch = width + 2  # a frame of zeros stands round the norms and the marks
    marks = np.zeros((height + 2) * pitch, np.uint8)
    dx, dy = np.zeros((3, width), np.int32), np.zeros((3, width), np.int32)
    norm, lines = np.zeros((3, pitch), np.int32), np.zeros((2, pitch), np.int32)
    stack = np.empty(height * width, np.int32)
    depth = 0
    for y in range(height + 1):
        if y < height:
            above, here, below = image[max(y - 1, 0)], image[y], image[min(y + 1, height - 1)]
            _gradient(above, here, below, lines, dx[y % 3], dy[y % 3])
            _l1(dx[y % 3], dy[y % 3], norm[y % 3, 1:-1])
        else:
            norm[y % 3] = 0
        if y == 0:
            continue
        before, now, after = norm[(y - 2) % 3], norm[(y - 1) % 3], norm[y % 3]
        gx, gy = dx[(y - 1) % 3], dy[(y - 1) % 3]
        for x in range(width):
            if now[x + 1] > low and _is_ridge(before, now, after, x + 1, gx[x], gy[x]):
                place = y * pitch + x + 1
                marks[place] = WEAK
                if now[x + 1] > high:
                    marks[place] = EDGE
                    stack[depth] = place
                    depth += 1
    while depth:
        depth -= 1
        place = stack[depth]
        for neighbour in (
            place - pitch - 1,
            place - pitch,
            place - pitch + 1,
            place - 1,
            place + 1,
            place + pitch - 1,
            place + pitch,
            place + pitch + 1,
        ):
            if marks[neighbour] == WEAK:
                marks[neighbour] = EDGE
                stack[depth] = neighbour
                depth += 1
    return (marks.reshape(height + 2, pitch)[1:-1, 1:-1] == EDGE).astype(np.uint8)


@njit(cache=True, nogil=True)
def _gradient(above, here, below, lines, dx, dy):
    sums, differences = lines[0], lines[1]  # of the three rows, with their ends repeated
    inner, inner_difference = sums[1:-1], differences[1:-1]
    for x in range(here.size):
        inner[x] = np.int32(above[x]) + 2 * np.int32(here[x]) + np.int32(below[x])
        inner_difference[x] = np.int32(below[x]) - np.int32(above[x])
    lines[:, 0] = lines[:, 1]
    lines[:, -1] = lines[:, -2]
    west, middle, east = differences[:-2], differences[1:-1], differences[2:]
    before, after = sums[:-2], sums[2:]
    for x in range(dx.size):
        dx[x] = after[x] - before[x]
        dy[x] = west[x] + 2 * middle[x] + east[x]


@njit(cache=True, nogil=True)
def _l1(dx, dy, norm):
    for x in range(norm.size):
        norm[x] = abs(dx[x]) + abs(dy[x])


@njit(cache=True, nogil=True)
def _is_ridge(above, here, below, x, dx, dy):
    """Whether the norm is largest at x along the gradient, whose direction is taken as one of four."""
    norm = here[x]
    run, rise = abs(np.int64(dx)), abs(np.int64(dy)) << 15
    tangent = run * TAN_22
    if rise < tangent:
        return norm > here[x - 1] and norm >= here[x + 1]
    if rise > tangent + (run << 16):
        return norm > above[x] and norm >= below[x]
    side = -1 if (dx ^ dy) < 0 else 1
    return norm > above[x - side] and norm > below[x + side]


@njit(cache=True, nogil=True)
def stencil(image, weights, factor, rounded):
    """Correlate with weights (3, 3), border reflect-101, multiply, and make uint8 of it: rounded or truncated."""
    height, width = image.shape
    out = np.empty(image.shape, np.uint8)
    padded = np.empty((3, width + 2), np.float32)
    sums = np.empty(width, np.float32)
    shift = 0.5 if rounded else 0.0
    for y in range(height):
        for dy in range(1 if y else -1, 2):
            row = padded[(y + dy) % 3]
            row[1:-1] = image[abs(y + dy) if y + dy < height else height - 2]
            row[0], row[-1] = row[2], row[-3]
        _correlate(padded[(y - 1) % 3], padded[y % 3], padded[(y + 1) % 3], weights, sums)
        _store(sums, factor, shift, out[y])
    return out


@njit(cache=True, nogil=True)
def _correlate(above, here, below, weights, sums):
    (a, b, c), (d, e, f), (g, h, i) = weights
    west, mid, east = above[:-2], above[1:-1], above[2:]
    for x in range(sums.size):
        sums[x] = a * west[x] + b * mid[x] + c * east[x]
    west, mid, east = here[:-2], here[1:-1], here[2:]
    for x in range(sums.size):
        sums[x] += d * west[x] + e * mid[x] + f * east[x]
    west, mid, east = below[:-2], below[1:-1], below[2:]
    for x in range(sums.size):
        sums[x] += g * west[x] + h * mid[x] + i * east[x]


@njit(cache=True, nogil=True)
def _store(sums, factor, shift, out):
    for x in range(out.size):
        out[x] = min(max(np.float32(sums[x] * factor) + shift, 0.0), 255.0)


@njit(cache=True, nogil=True)
def equalize(image):
    """Histogram equalisation of a uint8 image."""
    histogram = np.zeros(256, np.int64)
    for y in range(len(image)):
        for value in image[y]:
            histogram[value] += 1
    darkest = 0
    while histogram[darkest] == 0:
        darkest += 1
    if histogram[darkest] == image.size:
        return image
    scale = np.float32(255) / np.float32(image.size - histogram[darkest])
    table = np.zeros(256, np.uint8)
    count = 0
    for value in range(darkest + 1, 256):
        count += histogram[value]
        table[value] = np.rint(np.float32(count) * scale)
    out = np.empty_like(image)
    for y in range(len(image)):
        for x in range(image.shape[1]):
            out[y, x] = table[image[y, x]]
    return out
