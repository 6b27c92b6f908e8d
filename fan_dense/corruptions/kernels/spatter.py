"""Spatter: drops of water or mud."""

import cv2
import numpy as np
from numba import njit

from fan_dense.corruptions.kernels import edges

UNIT = np.arange(256) / 255.0
BOX = np.ones((3, 3), np.float32)
EMBOSS = np.array([[-2, -1, 0], [-1, 1, 1], [0, 1, 2]], np.float32)
CANNY_THRESHOLDS = (50, 150)
RIM = 20  # pixels: beyond this distance from its edge a drop is flat


def water(image, field, threshold, gain, colour):
    """x + m colour, where m is the field (H, W) above the threshold times the relief of the drops, scaled to gain.

    If no drop is left m is 0 / 0, and the published implementation makes a black image of it.
    """
    drops = levels_above(field, threshold)
    inside = 1 - edges.canny(drops, *CANNY_THRESHOLDS)
    distance = cv2.distanceTransform(inside, cv2.DIST_L2, 5)  # runs on the calling thread
    relief = edges.stencil(np.minimum(distance, RIM, out=distance), BOX, 1 / 9, False)
    relief = edges.stencil(edges.equalize(relief), EMBOSS, 1.0, True)
    relief = edges.stencil(relief, BOX, 1 / 9, True)
    strongest = _strongest(drops, relief)
    if strongest == 0:
        return np.zeros_like(image)
    return _light(image, drops, relief, strongest, np.float32(gain), np.array(colour) / 255.0)


@njit(cache=True, nogil=True)
def levels_above(field, threshold):
    """trunc(255 field) where the field is at least the threshold, else 0, as uint8."""
    out = np.empty(field.shape, np.uint8)
    for y in range(len(field)):
        row, target = field[y], out[y]
        for x in range(row.size):
            target[x] = np.uint8(np.int64(row[x] * 255)) if row[x] >= threshold else np.uint8(0)
    return out


@njit(cache=True, nogil=True)
def above(field, threshold):
    """1 where the field is above the threshold, else 0, as float32."""
    out = np.empty(field.shape, np.float32)
    for y in range(len(field)):
        row, target = field[y], out[y]
        for x in range(row.size):
            target[x] = row[x] > threshold
    return out


@njit(cache=True, nogil=True)
def _strongest(drops, relief):
    largest = 0
    for y in range(len(drops)):
        for x in range(drops.shape[1]):
            largest = max(largest, np.int32(drops[y, x]) * np.int32(relief[y, x]))
    return largest


@njit(cache=True, nogil=True)
def _light(image, drops, relief, strongest, gain, colour):
    height, width, _ = image.shape
    out = np.empty_like(image)
    for y in range(height):
        source, target, level, lit = image[y], out[y], drops[y], relief[y]
        for x in range(width):
            m = np.float32(np.int32(level[x]) * np.int32(lit[x])) / np.float32(strongest) * gain
            for c in range(3):
                target[x, c] = min(UNIT[source[x, c]] + m * colour[c], 1.0) * 255.0
    return out


@njit(cache=True, nogil=True)
def mud(image, mask, colour):
    """x (1 - m) + m colour / 255, where m is the mask (H, W), with values below 0.8 set to 0."""
    height, width, _ = image.shape
    out = np.empty_like(image)
    for y in range(height):
        source, target, row = image[y], out[y], mask[y]
        for x in range(width):
            m = row[x] if row[x] >= np.float32(0.8) else np.float32(0)
            for c in range(3):
                value = UNIT[source[x, c]] * (np.float32(1) - m) + colour[c] / 255.0 * m
                target[x, c] = min(value, 1.0) * 255.0
    return out
