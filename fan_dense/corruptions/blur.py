"""Blur: defocus, glass, motion, zoom, gaussian."""

import numpy as np

from fan_dense.corruptions.kernels import filters
from fan_dense.corruptions.registry import Image, Params, define

GAUSSIAN_SIGMA = (1, 2, 3, 4, 6)
MOTION_RADIUS = (10, 15, 15, 15, 20)
MOTION_SIGMA = (3, 5, 8, 12, 15)


def gaussian_weights(sigma: float, truncate: float) -> np.ndarray:
    """Weights of a sampled Gaussian of radius int(truncate sigma + 0.5), normalised, from the centre outwards."""
    radius = int(truncate * sigma + 0.5)
    weights = np.exp(-0.5 / (sigma * sigma) * np.arange(-radius, radius + 1) ** 2)
    return (weights / weights.sum())[radius:]


def smooth(image: np.ndarray, sigma: float) -> np.ndarray:
    """Gaussian blur of (H, W, C), cut at four sigma, edges repeated. uint8 is taken as x / 255 and truncated back."""
    weights = gaussian_weights(sigma, 4)
    rows, columns = (np.pad(np.arange(n), len(weights) - 1, 'edge') for n in image.shape[:2])
    is_image = image.dtype == np.uint8
    divisor = 255.0 if is_image else 1.0
    return filters.separable(image, weights, weights, rows, columns, divisor, np.empty_like(image), is_image)


def motion(image: np.ndarray, radius: int, sigma: float, angle: float) -> np.ndarray:
    """One-sided motion blur of (H, W, C) along a direction, in the image's dtype (truncated if that is an integer).

    The taps lie at 0..2 radius along the direction, weighted with half a Gaussian; the first one that leaves the image
    ends the sum, as published, so narrow images get darker.

    Args:
        angle: Degrees.
    """
    taps = np.arange(2 * radius + 1)
    weights = np.exp(-(taps**2) / (2.0 * sigma**2)) / (np.sqrt(2 * np.pi) * sigma)  # the factor cancels, but rounds
    weights /= weights.sum()
    shifts = -np.ceil(np.outer(taps, [np.sin(np.deg2rad(angle)), np.cos(np.deg2rad(angle))]) - 0.5).astype(np.int64)
    inside = np.all(np.abs(shifts) < image.shape[:2], axis=1)
    count = len(taps) if inside.all() else int(np.argmin(inside))
    pad = int(np.abs(shifts[:count, 1]).max())
    padded = np.pad(image, ((0, 0), (pad, pad), (0, 0)), 'edge')
    return filters.shifted_sum(padded, weights[:count], shifts[:count], pad, np.empty_like(image))


@define('gaussian_blur')
def gaussian_blur(image: Image, severity: int) -> Image:
    return smooth(image, GAUSSIAN_SIGMA[severity - 1])


def _draw_motion(image: Image, severity: int, rng) -> Params:
    return {'angle': rng.uniform(-45, 45)}


@define('motion_blur', draw=_draw_motion)
def motion_blur(image: Image, severity: int, angle: float) -> Image:
    return motion(image, MOTION_RADIUS[severity - 1], MOTION_SIGMA[severity - 1], angle)
