"""Corrupt an image: check the input, draw the random parameters, apply them."""

import numpy as np

from fan_dense.corruptions.registry import Corruption, Image, Params, get

MIN_SIDE = 32
LUMA = np.array([0.299, 0.587, 0.114])  # ITU-R BT.601; the order of the channels is the caller's, see corrupt()

Rng = np.random.Generator | np.random.RandomState


def corrupt(image: Image, name: str | Corruption, severity: int, *, rng: Rng) -> Image:
    """A corrupted copy of an image, as in Hendrycks and Dietterich (1903.12261) and Michaelis et al. (1907.07484).

    The same as ``apply(image, name, severity, draw(image, name, severity, rng=rng))``. The channels are taken as they
    come: frost, jpeg_compression, snow and spatter give other pictures for RGB and BGR, so say in your results which
    it was. A grey image is treated as three equal channels; the result is the first of them, or the luma where a
    corruption adds colour.

    Args:
        image: (H, W, 3) or (H, W) uint8, H and W at least 32; any strides; never modified.
        name: One of :func:`names`, or registered with :func:`register`.
        severity: 1 to 5.
        rng: A Generator (see :func:`seed_for`), or a RandomState. With a RandomState the draws are those of the
            package imagecorruptions, in its order, and so is the result; with a Generator they have the same
            distribution and are drawn faster.

    Returns:
        A new uint8 array of the image's shape.

    Raises:
        TypeError: The image is not a numpy array, the severity no integer, or rng no numpy generator.
        ValueError: The image has another dtype or shape, the severity is not in 1..5, or there is no such corruption.
    """
    return apply(image, name, severity, draw(image, name, severity, rng=rng))


def draw(image: Image, name: str | Corruption, severity: int, *, rng: Rng) -> Params:
    """The random parameters of one corruption of an image: what :func:`apply` needs to give the same pixels again.

    Arguments and errors are those of :func:`corrupt`.

    Returns:
        Keyword arguments (numbers and arrays) of the corruption's function; empty if it has no random parameters.
    """
    corruption = _checked(image, name, severity)
    if not isinstance(rng, np.random.Generator | np.random.RandomState):
        raise TypeError(
            f'rng must be a numpy Generator or RandomState, got {_kind(rng)}; '
            'seed_for(seed, image_key, name, severity) makes one'
        )
    return {} if corruption.draw is None else corruption.draw(image, severity, rng)


def apply(image: Image, name: str | Corruption, severity: int, params: Params) -> Image:
    """Corrupt an image with parameters that :func:`draw` gave. Arguments and errors are those of :func:`corrupt`."""
    corruption = _checked(image, name, severity)
    layers = image if image.ndim == 3 else image[:, :, None]
    if corruption.colour and layers.shape[2] == 1:
        layers = np.repeat(layers, 3, axis=2)
    result = corruption.apply(np.require(layers, requirements='CW'), severity, **params)
    if not isinstance(result, np.ndarray) or result.dtype != np.uint8 or result.shape != layers.shape:
        raise TypeError(
            f'corruption {corruption.name!r} must return a uint8 array of shape {layers.shape}, got {_kind(result)}'
        )
    if image.ndim == 3:
        return result
    return result[:, :, 0] if result.shape[2] == 1 else (result @ LUMA + 0.5).astype(np.uint8)


def _checked(image: Image, name: str | Corruption, severity: int) -> Corruption:
    corruption = name if isinstance(name, Corruption) else get(name)
    if isinstance(severity, bool) or not isinstance(severity, int | np.integer):
        raise TypeError(f'severity must be an integer from 1 to 5, got {severity!r}')
    if not 1 <= severity <= 5:
        raise ValueError(f'severity must be an integer from 1 to 5, got {severity}')
    if not isinstance(image, np.ndarray):
        raise TypeError(f'image must be a uint8 numpy array (H, W, 3) or (H, W), got {_kind(image)}')
    shape = image.shape
    if image.dtype != np.uint8 or image.ndim not in (2, 3) or shape[2:] not in ((), (3,)) or min(shape[:2]) < MIN_SIDE:
        raise ValueError(
            f'image must be uint8 of shape (H, W, 3) or (H, W), at least {MIN_SIDE} x {MIN_SIDE}, got {_kind(image)}'
        )
    return corruption


def _kind(value: object) -> str:
    if isinstance(value, np.ndarray):
        return f'{value.dtype} of shape {value.shape}'
    return type(value).__name__
