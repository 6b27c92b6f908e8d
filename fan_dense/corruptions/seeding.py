"""What makes a corrupted image reproducible: generators that depend on nothing else, and digests of pixels."""

import hashlib
import json

import numpy as np


def seed_for(seed: int, image_key: str | int, name: str, severity: int) -> np.random.Generator:
    """A Generator that is a function of its four arguments alone.

    Worker, process, order, platform and ``PYTHONHASHSEED`` do not enter: the key of a counter-based generator (Philox)
    is the BLAKE2b hash of the arguments, written as JSON.

    Args:
        seed: Seed of the run, any integer.
        image_key: What identifies the image in its data set (an id, or a path relative to the data set's root).
        name: Name of the corruption.
        severity: 1 to 5.

    Raises:
        TypeError: ``seed`` is not an integer, or ``image_key`` neither a string nor an integer.
    """
    if not isinstance(seed, int | np.integer) or isinstance(seed, bool):
        raise TypeError(f'seed must be an integer, got {seed!r}')
    if not isinstance(image_key, str | int | np.integer) or isinstance(image_key, bool):
        raise TypeError(f'image_key must be a string or an integer, got {image_key!r}')
    key = image_key if isinstance(image_key, str) else int(image_key)
    identity = json.dumps([int(seed), key, name, int(severity)], ensure_ascii=True)
    digest = hashlib.blake2b(identity.encode(), digest_size=16, person=b'fan_dense').digest()
    return np.random.Generator(np.random.Philox(key=int.from_bytes(digest, 'little')))


def digest(image: np.ndarray) -> str:
    """Hex digest (128 bits) of an image's pixels, shape and type."""
    state = hashlib.sha256(repr((image.shape, image.dtype.str)).encode())
    state.update(np.ascontiguousarray(image))
    return state.hexdigest()[:32]
