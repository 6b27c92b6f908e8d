"""Noise: gaussian, shot, impulse, speckle.

With a Generator the draw is a 64-bit key. What a grey level v becomes is a random byte whose distribution is known in
closed form, so each sample is drawn from that distribution itself: by Walker's alias method, from one 32-bit word,
with probabilities right to 2^-32, clipping and truncation included.
"""

import math
from functools import lru_cache

import numpy as np

from fan_dense.corruptions.kernels import noise as kernels
from fan_dense.corruptions.kernels.random import draw_key
from fan_dense.corruptions.registry import Image, Params, define

GAUSSIAN_SCALE = (0.08, 0.12, 0.18, 0.26, 0.38)
SHOT_RATE = (60, 25, 12, 5, 3)
IMPULSE_SHARE = (0.03, 0.06, 0.09, 0.17, 0.27)
SPECKLE_SCALE = (0.15, 0.2, 0.35, 0.45, 0.6)

LEVELS = np.arange(256)
_erfc = np.vectorize(math.erfc)


def stacked_shape(image: Image) -> tuple[int, int, int]:
    """The shape that the published draws have: a grey image is stacked to three channels before they are made."""
    return (*image.shape[:2], 3)


def _draw_normal(scales: tuple[float, ...]):
    def draw(image: Image, severity: int, rng) -> Params:
        if isinstance(rng, np.random.Generator):
            return {'key': draw_key(rng)}
        return {'noise': rng.normal(0, scales[severity - 1], stacked_shape(image))}

    return draw


def _draw_shot(image: Image, severity: int, rng) -> Params:
    if isinstance(rng, np.random.Generator):
        return {'key': draw_key(rng)}
    layers = np.broadcast_to(image if image.ndim == 3 else image[:, :, None], stacked_shape(image))
    return {'counts': rng.poisson(layers / 255.0 * SHOT_RATE[severity - 1])}


def _draw_impulse(image: Image, severity: int, rng) -> Params:
    """Published draws come from a Generator of their own, ``default_rng(seed)``, whose bit generator is PCG64.

    So a PCG64 Generator replays them, and a RandomState is replaced by ``default_rng`` of its own seed.
    """
    if isinstance(rng, np.random.RandomState):
        rng = np.random.default_rng(_seed_of(rng))
    if not isinstance(rng.bit_generator, np.random.PCG64):
        return {'key': draw_key(rng)}
    flip = _rows_at_most(rng, stacked_shape(image), IMPULSE_SHARE[severity - 1])
    return {'flip': flip, 'salt': _rows_at_most(rng, stacked_shape(image), 0.5)}


def _seed_of(rng: np.random.RandomState) -> int:
    """The integer that a fresh RandomState was seeded with (MT19937 keeps it as its first word), later a word of it."""
    _, words, position, *_ = rng.get_state()
    drawn = rng.randint(2**32, dtype=np.uint32)
    return int(words[0] if position == len(words) else drawn)


def _rows_at_most(rng: np.random.Generator, shape: tuple[int, int, int], limit: float) -> np.ndarray:
    """``rng.random(shape) <= limit``, row by row, for which eight bytes a sample are never held."""
    return np.stack([rng.random(shape[1:]) <= limit for _ in range(shape[0])])


@define('gaussian_noise', draw=_draw_normal(GAUSSIAN_SCALE))
def gaussian_noise(
    image: Image, severity: int, key: np.ndarray | None = None, noise: np.ndarray | None = None
) -> Image:
    if noise is None:
        return _resample(image, _gaussian_tables(severity), key)
    return _add(image, noise, proportional=False)


@define('speckle_noise', draw=_draw_normal(SPECKLE_SCALE))
def speckle_noise(image: Image, severity: int, key: np.ndarray | None = None, noise: np.ndarray | None = None) -> Image:
    if noise is None:
        return _resample(image, _speckle_tables(severity), key)
    return _add(image, noise, proportional=True)


@define('shot_noise', draw=_draw_shot)
def shot_noise(image: Image, severity: int, key: np.ndarray | None = None, counts: np.ndarray | None = None) -> Image:
    if counts is None:
        return _resample(image, _shot_tables(severity), key)
    return _shot_levels(counts[:, :, : image.shape[2]], severity)


@define('impulse_noise', draw=_draw_impulse)
def impulse_noise(
    image: Image,
    severity: int,
    key: np.ndarray | None = None,
    flip: np.ndarray | None = None,
    salt: np.ndarray | None = None,
) -> Image:
    if flip is None:
        return kernels.impulse(_rows(image), IMPULSE_SHARE[severity - 1], key).reshape(image.shape)
    channels = image.shape[2]
    return np.where(flip[:, :, :channels], salt[:, :, :channels] * np.uint8(255), image)


def _rows(image: Image) -> np.ndarray:
    return image.reshape(len(image), -1)  # (H, W * C)


def _add(image: Image, noise: np.ndarray, proportional: bool) -> Image:
    noise = noise[:, :, : image.shape[2]]
    return kernels.add(image.reshape(-1), noise.reshape(-1), proportional).reshape(image.shape)


def _resample(image: Image, tables: np.ndarray, key: np.ndarray) -> Image:
    return kernels.resample(_rows(image), tables, key).reshape(image.shape)


def _shot_levels(counts: np.ndarray, severity: int) -> np.ndarray:
    """Grey levels of photon counts: trunc(255 clip(count / rate, 0, 1))."""
    return (np.clip(counts / float(SHOT_RATE[severity - 1]), 0, 1) * 255).astype(np.uint8)


def _normal_levels(scale: np.ndarray | float) -> np.ndarray:
    """P(out | v), (256, 256), of out = floor(v + scale n), clipped to 0..255, n standard normal."""
    edges = (LEVELS[None, 1:] - LEVELS[:, None]) / scale  # out < k exactly where n < (k - v) / scale
    below = 0.5 * _erfc(-edges / math.sqrt(2))
    return np.diff(np.pad(below, ((0, 0), (1, 1)), constant_values=(0, 1)), axis=1)


@lru_cache(maxsize=5)
def _gaussian_tables(severity: int) -> np.ndarray:
    return kernels.alias_tables(_normal_levels(GAUSSIAN_SCALE[severity - 1] * 255))


@lru_cache(maxsize=5)
def _speckle_tables(severity: int) -> np.ndarray:
    scale = np.maximum(SPECKLE_SCALE[severity - 1] * LEVELS[:, None], 1e-9)  # black stays black
    return kernels.alias_tables(_normal_levels(scale))


@lru_cache(maxsize=5)
def _shot_tables(severity: int) -> np.ndarray:
    rate = SHOT_RATE[severity - 1]
    counts = np.arange(rate + 1)
    mean = LEVELS[:, None] / 255 * rate
    # exp(-mean) mean^k / k!, and for the last count, which is white like all above it, what is left
    terms = np.cumprod(np.hstack([np.exp(-mean), mean / counts[1:-1]]), axis=1)
    shares = np.hstack([terms, 1 - terms.sum(axis=1, keepdims=True)])
    probability = np.zeros((256, 256))
    np.add.at(probability.T, _shot_levels(counts, severity), np.maximum(shares, 0).T)
    return kernels.alias_tables(probability)
