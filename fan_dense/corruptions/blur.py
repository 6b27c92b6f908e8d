"""Blur: defocus, glass, motion, zoom, gaussian."""

import numpy as np

from fan_dense.corruptions.kernels import disk, filters, glass, zoom
from fan_dense.corruptions.kernels.random import draw_key
from fan_dense.corruptions.registry import Image, Params, define

GAUSSIAN_SIGMA = (1, 2, 3, 4, 6)
DEFOCUS = ((3, 0.1), (4, 0.5), (6, 0.5), (8, 0.5), (10, 0.5))  # radius of the disk, sigma that smooths its rim
GLASS = ((0.7, 1, 2), (0.9, 2, 1), (1, 2, 3), (1.1, 3, 2), (1.5, 4, 2))  # sigma, largest shift, iterations
ZOOM = ((1.11, 0.01), (1.16, 0.01), (1.21, 0.02), (1.26, 0.02), (1.31, 0.03))  # the factors are arange(1, end, step)
MOTION_RADIUS = (10, 15, 15, 15, 20)
MOTION_SIGMA = (3, 5, 8, 12, 15)


def gaussian_weights(sigma: float, truncate: float) -> np.ndarray:
    """Weights of a sampled Gaussian of radius int(truncate sigma + 0.5), normalised, from the centre outwards."""
    radius = int(truncate * sigma + 0.5)
    weights = np.exp(-0.5 / (sigma * sigma) * np.arange(-radius, radius + 1) ** 2)
    return (weights / weights.sum())[radius:]


def smooth(image: np.ndarray, sigma: float) -> np.ndarray:
    """Gaussian blur of (H, W, C), cut at four sigma, edges repeated. uint8 is taken as x / 255 and truncated back."""
    is_image = image.dtype == np.uint8
    weights = gaussian_weights(sigma, 4)
    rows, columns = (np.pad(np.arange(n), len(weights) - 1, 'edge') for n in image.shape[:2])
    divisor = 255.0 if is_image else 1.0
    return filters.separable(image, weights, weights, rows, columns, divisor, np.empty_like(image), is_image)


def motion(image: np.ndarray, radius: int, sigma: float, angle: float, gain: float = 1.0) -> Image:
    """One-sided motion blur of (H, W, C) along a direction, truncated to uint8, or multiplied by ``gain`` and rounded.

    The taps lie at 0..2 radius along the direction (degrees), weighted with half a Gaussian. The first one that leaves
    the image ends the sum, as published, so narrow images get darker.
    """
    taps = np.arange(2 * radius + 1)
    weights = np.exp(-(taps**2) / (2.0 * sigma**2)) / (np.sqrt(2 * np.pi) * sigma)  # the factor cancels, but rounds
    weights /= weights.sum()
    shifts = -np.ceil(np.outer(taps, [np.sin(np.deg2rad(angle)), np.cos(np.deg2rad(angle))]) - 0.5).astype(np.int64)
    inside = np.all(np.abs(shifts) < image.shape[:2], axis=1)
    count = len(taps) if inside.all() else int(np.argmin(inside))
    pad = int(np.abs(shifts[:count, 1]).max())
    padded = np.pad(image, ((0, 0), (pad, pad), (0, 0)), 'edge')
    return filters.shifted_sum(padded, weights[:count], shifts[:count], pad, gain, np.empty(image.shape, np.uint8))


@define('gaussian_blur')
def gaussian_blur(image: Image, severity: int) -> Image:
    return smooth(image, GAUSSIAN_SIGMA[severity - 1])


def _draw_motion(image: Image, severity: int, rng) -> Params:
    return {'angle': rng.uniform(-45, 45)}


@define('motion_blur', draw=_draw_motion)
def motion_blur(image: Image, severity: int, angle: float) -> Image:
    return motion(image, MOTION_RADIUS[severity - 1], MOTION_SIGMA[severity - 1], angle)


@define('defocus_blur')
def defocus_blur(image: Image, severity: int) -> Image:
    return disk.blur(image, *DEFOCUS[severity - 1])


def _draw_glass(image: Image, severity: int, rng) -> Params:
    if isinstance(rng, np.random.Generator):
        return {'key': draw_key(rng)}
    height, width = image.shape[:2]
    _, reach, iterations = GLASS[severity - 1]
    size = (height - 2 * reach, width - 2 * reach, 2)
    return {'shifts': np.stack([rng.randint(-reach, reach, size).astype(np.int8) for _ in range(iterations)])}


@define('glass_blur', draw=_draw_glass)
def glass_blur(image: Image, severity: int, key: np.ndarray | None = None, shifts: np.ndarray | None = None) -> Image:
    """Blur, let each pixel take the value of one nearby, in a scan from the bottom right, and blur again."""
    sigma, reach, iterations = GLASS[severity - 1]
    blurred = smooth(image, sigma)
    for i in range(iterations):
        if shifts is None:
            glass.scatter_random(blurred, reach, key, i)
        else:
            glass.scatter(blurred, reach, shifts[i])
    return smooth(blurred, sigma)


@define('zoom_blur')
def zoom_blur(image: Image, severity: int) -> Image:
    """Mean of the image, twice, and of itself magnified by growing factors."""
    factors = np.arange(1, *ZOOM[severity - 1])[1:]  # the first layer is the image itself
    rows, columns = (zoom.layers(size, factors) for size in image.shape[:2])
    return zoom.blur(image, rows, columns)
