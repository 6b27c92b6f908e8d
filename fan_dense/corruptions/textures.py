"""Frost textures: where they come from, and how large they are made for an image."""

import importlib.util
import math
from functools import lru_cache
from pathlib import Path

import numpy as np
from PIL import Image as Pillow

OWN = 'fan_dense'
PUBLISHED = 'imagecorruptions'
COUNT = 5  # the published six are drawn from with randint(5), which never gives the last


def folder(source: str) -> Path:
    """The folder that holds the textures of a source: ours, those of the package imagecorruptions, or a folder's path.

    Raises:
        FileNotFoundError: There is no such folder, or the package is not installed.
    """
    if source == OWN:
        return Path(__file__).parent / 'frost'
    if source == PUBLISHED:
        spec = importlib.util.find_spec(PUBLISHED)
        if spec is None:
            raise FileNotFoundError(
                'the published frost textures come with the package imagecorruptions, which is not installed: '
                'pip install --no-deps imagecorruptions-imaug, or use our textures (corruption frost)'
            )
        return Path(spec.origin).parent / 'frost'
    if not Path(source).is_dir():
        raise FileNotFoundError(f'no folder of frost textures at {source}')
    return Path(source)


@lru_cache(maxsize=COUNT)
def texture(source: str, index: int) -> np.ndarray:
    """Texture 0..4 of a source, the files frost1 .. frost5 (png or jpg), as (H, W, 3) uint8.

    Raises:
        FileNotFoundError: The folder does not hold it.
    """
    where = folder(source)
    for file in (where / f'frost{index + 1}.png', where / f'frost{index + 1}.jpg'):
        if file.exists():
            return np.array(Pillow.open(file).convert('RGB'))
    raise FileNotFoundError(f'no frost texture frost{index + 1}.png or frost{index + 1}.jpg in {where}')


def enlarged_shape(source: str, index: int, height: int, width: int) -> tuple[int, int]:
    """Size of a texture after it was made 1.1 times as large as it must be to cover an image."""
    rows, columns, _ = texture(source, index).shape
    scale = max(1, height / rows, width / columns) * 1.1
    return math.ceil(rows * scale), math.ceil(columns * scale)
