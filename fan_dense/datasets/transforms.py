"""``Corrupt``: a corruption of the decoded image, in front of the pipelines of mmdet and mmseg."""

from collections.abc import Sequence
from pathlib import PurePath

import numpy as np
import wrapt
from mmcv.transforms import TRANSFORMS, BaseTransform

from fan_dense import checks
from fan_dense.corruptions import corrupt, digest, seed_for


def image_key(path: str, prefix: str | None) -> str:
    """What identifies an image wherever its data set lies: its path below ``prefix``, or its file name.

    >>> image_key('/data/cityscapes/leftImg8bit/val/bonn/bonn_0.png', '/data/cityscapes/leftImg8bit/val')
    'bonn/bonn_0.png'
    >>> image_key('val2017/000000000139.jpg', None)
    '000000000139.jpg'
    """
    path = PurePath(path)
    if prefix is None:
        return path.name
    try:
        return path.relative_to(prefix).as_posix()
    except ValueError:
        raise ValueError(f"image {path} does not lie below prefix {prefix!r} of transform 'Corrupt'") from None


@TRANSFORMS.register_module()
class Corrupt(BaseTransform):
    """Corrupt the image as it was decoded: place it directly after the loading step, before any resize.

    For evaluation (``seed`` an integer) the result is a function of seed, image key, corruption and severity alone:
    not of workers, order or what ran before. ``results['corruption']`` records what was done, with a digest of
    the pixels before and after, for :class:`fan_dense.evaluation.guard.PixelGuard`.

    For training (``seed=None``) corruption and severity are drawn for every image from the names and severities
    given, by numpy's global generator, which mmengine seeds in each worker.

    Required keys: img, (H, W, 3) uint8 in the BGR order that mmcv decodes to, and img_path. Modified: img. Added:
    corruption.

    Args:
        corruption: a name, or names to draw from, or None: leave the image as it is and only record its digest.
        severity: 1 to 5, or several to draw from; None if ``corruption`` is None.
        seed: of the evaluation; None draws afresh every time.
        image_order: channel order in which the corruption sees the image. The published detection benchmark handed
            over BGR, on which frost, jpeg_compression, snow and spatter depend; 'rgb' turns the image before and
            back after.
        prefix: image folder; the key is the path below it. Without it the key is the file name, which is the same
            for data sets without subfolders.
        prob: share of the images that are corrupted, for training.
    """

    def __init__(
        self,
        corruption: str | Sequence[str] | None,
        severity: int | Sequence[int] | None = None,
        seed: int | None = 0,
        image_order: str = 'bgr',
        prefix: str | None = None,
        prob: float = 1.0,
    ):
        checks.one_of('image_order', image_order, checks.IMAGE_ORDERS)
        self.corruptions = [corruption] if corruption is None or isinstance(corruption, str) else list(corruption)
        self.severities = [severity] if severity is None or isinstance(severity, int) else list(severity)
        for name in self.corruptions:
            for level in self.severities:
                checks.corruption_and_severity(name, level)
        choice = len(self.corruptions) * len(self.severities)
        if choice == 0 or (seed is not None and (choice > 1 or prob != 1)):
            raise ValueError(
                f'Corrupt with seed={seed!r} needs one corruption, one severity and prob=1, got {corruption!r}, '
                f'{severity!r}, {prob!r}; to draw from several in training say seed=None'
            )
        if not 0 < prob <= 1:
            raise ValueError(f'prob of Corrupt is {prob!r}; it must be above 0 and at most 1')
        self.seed = seed
        self.image_order = image_order
        self.prefix = prefix
        self.prob = prob

    def transform(self, results: dict) -> dict:
        clean = results['img']
        key = image_key(results['img_path'], self.prefix)
        name, severity, rng = self._draw(key)
        seen = clean if name is None else self._apply(clean, name, severity, rng)
        before = digest(clean)
        results['img'] = seen
        results['corruption'] = dict(
            key=key,
            corruption=name,
            severity=severity,
            seed=self.seed,
            image_order=self.image_order,
            clean=before,
            seen=before if seen is clean else digest(seen),
        )
        return results

    def _draw(self, key: str) -> tuple[str | None, int | None, np.random.Generator | None]:
        """Corruption, severity and random numbers for one image."""
        if self.seed is None:
            if np.random.random() >= self.prob:  # noqa: NPY002 (the generator that mmengine seeds in each worker)
                return None, None, None
            name, severity = (
                choices[np.random.randint(len(choices))]  # noqa: NPY002
                for choices in (self.corruptions, self.severities)
            )
            return name, severity, np.random.default_rng(np.random.randint(2**31))  # noqa: NPY002
        (name,), (severity,) = self.corruptions, self.severities
        if name is None:
            return None, None, None
        return name, severity, seed_for(self.seed, key, name, severity)

    def _apply(self, image: np.ndarray, name: str, severity: int, rng: np.random.Generator) -> np.ndarray:
        """The corrupted image, (H, W, 3) uint8, in the order of ``image``."""
        if image.dtype != np.uint8:
            raise ValueError(
                f'Corrupt needs the decoded 8-bit image, got {image.dtype}: place it directly after the '
                'loading step, and load without to_float32=True'
            )
        if self.image_order == 'bgr':
            return corrupt(image, name, severity, rng=rng)
        turned = corrupt(np.ascontiguousarray(image[..., ::-1]), name, severity, rng=rng)
        return np.ascontiguousarray(turned[..., ::-1])

    def __repr__(self):
        return (
            f'{type(self).__name__}(corruption={self.corruptions}, severity={self.severities}, seed={self.seed}, '
            f'image_order={self.image_order!r}, prefix={self.prefix!r}, prob={self.prob})'
        )


def _take_the_place_of_mmdets(_) -> None:
    from mmdet.registry import TRANSFORMS as MMDET_TRANSFORMS

    MMDET_TRANSFORMS.register_module(name='Corrupt', module=Corrupt, force=True)


# mmdet has a transform of this name, without seed, order or record, for a package that no longer runs. In a config of
# mmdet, type='Corrupt' would find that one first.
wrapt.register_post_import_hook(_take_the_place_of_mmdets, 'mmdet.datasets.transforms')
