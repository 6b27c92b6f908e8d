"""Scenes under file names: ``scenes://seed0/192x256/val/000012.png`` is read like any other file, and drawn when read.

mmengine chooses its file backend by the prefix, so the loading steps, hooks and tools of mmdet and mmseg work on scenes
unchanged. ``.../val/labels/000012.png`` is the semantic map of the same scene.
"""

import functools
import re
from dataclasses import dataclass

import cv2
import numpy as np
from mmengine.fileio import BaseStorageBackend, register_backend

from fan_dense.datasets.scenes import SIZE, SMALLEST, Scene, draw_scene

PREFIX = 'scenes'
_NAME = re.compile(rf'{PREFIX}://seed(\d+)/(\d+)x(\d+)/([\w-]+)/(labels/)?(\d+)\.png')


@dataclass(frozen=True)
class SceneSet:
    """Which scenes: everything that determines them but their index. ``size`` is (height, width)."""

    split: str
    size: tuple[int, int] = SIZE
    seed: int = 0

    def __post_init__(self):
        object.__setattr__(self, 'size', tuple(self.size))
        if not re.fullmatch(r'[\w-]+', self.split):
            raise ValueError(f'split is {self.split!r}; a name of letters, digits, _ and - is expected')
        if len(self.size) != 2 or min(self.size) < SMALLEST or self.seed < 0:
            raise ValueError(
                f'size is {self.size}, seed {self.seed}; (height, width) from {SMALLEST} and a seed from 0 are expected'
            )

    def image_path(self, index: int) -> str:
        return f'{self._folder()}/{index:06d}.png'

    def label_path(self, index: int) -> str:
        return f'{self._folder()}/labels/{index:06d}.png'

    def draw(self, index: int) -> Scene:
        """The scene, kept for a moment: image, labels and instances are asked for one after the other."""
        return _drawn(self, index)

    def _folder(self) -> str:
        return f'{PREFIX}://seed{self.seed}/{self.size[0]}x{self.size[1]}/{self.split}'


@functools.lru_cache(maxsize=2)
def _drawn(scenes: SceneSet, index: int) -> Scene:
    return draw_scene(index, split=scenes.split, size=scenes.size, seed=scenes.seed)


def encode(pixels: np.ndarray) -> bytes:
    """PNG of an image or a label map, quick rather than small."""
    return cv2.imencode('.png', pixels, [cv2.IMWRITE_PNG_COMPRESSION, 1])[1].tobytes()


@register_backend('fan_dense.scenes', prefixes=PREFIX)
class SceneBackend(BaseStorageBackend):
    """Reads what :class:`SceneSet` names."""

    def get(self, filepath) -> bytes:
        match = _NAME.fullmatch(str(filepath))
        if match is None:
            raise FileNotFoundError(f'no scene {filepath}: names look like {SceneSet("val").image_path(12)}')
        seed, height, width, split, labels, index = match.groups()
        scene = SceneSet(split, (int(height), int(width)), int(seed)).draw(int(index))
        return encode(scene.semantic if labels else scene.image)

    def get_text(self, filepath, encoding: str = 'utf-8') -> str:
        raise ValueError(f'{filepath} is a picture, not a text')
