"""What each image contributed to a condition's figures, so that they can be taken again over other images.

Two kinds: pixel counts of segmentation, and matched detections. Both give the figures of any multiset of their images
(a bootstrap resample) without looking at an image again, and a score for each image by itself. numpy and numba alone.
"""

import io
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path

import numpy as np

from fan_dense.files import write_atomically

FORMAT = 1
INTERSECTION, UNION, PREDICTED, LABELLED = range(4)
MOST_THRESHOLDS = 16
SHOWN_SCORE = 0.3  # detections below are not drawn either


@dataclass(frozen=True, eq=False)
class IoURecord:
    """Pixel counts of segmentation.

    Attributes:
        counts: (images, 4, classes) int64: pixels of each class that are predicted and labelled (intersection),
            predicted or labelled (union), predicted, labelled; images in the order of the data set.
    """

    counts: np.ndarray

    @property
    def images(self) -> int:
        return len(self.counts)

    @property
    def image_score_name(self) -> str:
        return 'mIoU of the image'

    def figures(self, weights: np.ndarray | None = None) -> dict:
        """aAcc, mIoU and mAcc over the images, each taken ``weights`` times; as mmseg counts them.

        Args:
            weights: (images,) or (resamples, images), whole numbers; None takes each image once.

        Returns:
            Name -> fraction, or (resamples,) of them. A class that is neither labelled nor predicted is not part of
            the mIoU, and one that is not labelled not of the mAcc; NaN where no class is left.
        """
        weights = _checked(weights, self.images)
        # (..., images) @ (images, 4 * classes); sums of whole numbers below 2**53 are exact, in any order
        totals = weights.astype(float) @ self.counts.reshape(self.images, -1).astype(float)
        totals = totals.reshape(*weights.shape[:-1], *self.counts.shape[1:])
        intersection, labelled = totals[..., INTERSECTION, :], totals[..., LABELLED, :]
        return {
            'aAcc': _divided(intersection.sum(-1), labelled.sum(-1)),
            'mIoU': _mean_of_present(_divided(intersection, totals[..., UNION, :])),
            'mAcc': _mean_of_present(_divided(intersection, labelled)),
        }

    def image_scores(self) -> np.ndarray:
        """(images,): mean IoU over the classes that the image or its prediction has; NaN if nothing is labelled."""
        return _mean_of_present(_divided(self.counts[:, INTERSECTION], self.counts[:, UNION]))


@dataclass(frozen=True, eq=False)
class APRecord:
    """Detections matched to true objects, as pycocotools does it for objects of all sizes.

    Detections (D of them) are ordered by class, then by falling score, then by image identity: as pycocotools counts
    them, so that equal scores make no difference. Crowds are no true objects.

    Attributes:
        kind: 'bbox' or 'segm'.
        images, classes: how many there are.
        thresholds: (T,) of IoU, T <= MOST_THRESHOLDS.
        limit, limit_at_one: detections of a class in an image that count in mAP, and at one threshold as in mAP_50
            (pycocotools: 100, and the last of ``maxDets``).
        image, label, score: (D,) of each detection: index of the image in the data set, of the class, confidence.
        matched: (D,) uint16, bit t: it is matched to a true object at thresholds[t].
        ignored: (D,) uint16, bit t: it does not count there, being matched to a crowd.
        true_image, true_label: image and class of each true object.
    """

    kind: str
    images: int
    classes: int
    thresholds: np.ndarray
    limit: int
    limit_at_one: int
    image: np.ndarray
    label: np.ndarray
    score: np.ndarray
    matched: np.ndarray
    ignored: np.ndarray
    true_image: np.ndarray
    true_label: np.ndarray

    @classmethod
    def from_coco(cls, evaluation, images: Sequence) -> 'APRecord':
        """What a ``pycocotools.cocoeval.COCOeval`` has found in ``evaluate()``.

        Args:
            evaluation: of ``iouType`` 'bbox' or 'segm'.
            images: their identities, in the order of the data set.

        Raises:
            ValueError: there are more IoU thresholds than a record has bits for.
        """
        params = evaluation.params
        if len(params.iouThrs) > MOST_THRESHOLDS:
            raise ValueError(
                f'there are {len(params.iouThrs)} IoU thresholds (iou_thrs); at most {MOST_THRESHOLDS} fit'
            )
        index = {identity: position for position, identity in enumerate(images)}
        # evalImgs: (class, area range, image), flattened; 'all' is the first range, None is an image with nothing
        step = len(params.areaRng) * len(params.imgIds)
        entries = [
            evaluation.evalImgs[start : start + len(params.imgIds)]
            for start in range(0, step * len(params.catIds), step)
        ]
        parts = [
            _matched([one for one in of_class if one is not None], label, index, len(params.iouThrs))
            for label, of_class in enumerate(entries)
        ]
        return cls(
            kind=params.iouType,
            images=len(images),
            classes=len(params.catIds),
            thresholds=np.array(params.iouThrs, float),
            limit=100,
            limit_at_one=int(params.maxDets[-1]),
            **{name: np.concatenate([part[name] for part in parts]) for name in parts[0]},
        )

    @property
    def image_score_name(self) -> str:
        return f'F1 at IoU {self.thresholds[0]:g} of detections with score {SHOWN_SCORE:g} or more'

    def figures(self, weights: np.ndarray | None = None) -> dict:
        """mAP, mAP_50 and mAP_75 over the images, each taken ``weights`` times: those of pycocotools.

        An image that is taken twice is there twice, one copy after the other.

        Args:
            weights: (images,) or (resamples, images), whole numbers; None takes each image once.

        Returns:
            ``bbox_mAP``, ... -> fraction, or (resamples,) of them. Classes without true objects in these images are not
            part of the mean; NaN where no class is left, or the threshold is none of ours.
        """
        weights = _checked(weights, self.images)
        found = self.average_precisions(weights, self.limit)
        figures = {f'{self.kind}_mAP': _mean_of_present(found.mean(-2))}
        if self._rank.max(initial=0) >= self.limit:
            found = self.average_precisions(weights, self.limit_at_one)
        for name, threshold in (('mAP_50', 0.5), ('mAP_75', 0.75)):
            at = np.flatnonzero(self.thresholds == threshold)
            figures[f'{self.kind}_{name}'] = (
                _mean_of_present(found[..., at[0], :]) if len(at) else np.full(weights.shape[:-1], np.nan)[()]
            )
        return figures

    def average_precisions(self, weights: np.ndarray, limit: int) -> np.ndarray:
        """AP of each threshold and class, (..., T, classes), of ``limit`` detections of a class in an image."""
        from fan_dense.evaluation.average_precision import average_precisions  # numba: longer to import than the rest

        counted = np.flatnonzero(self._rank < limit)
        return average_precisions(
            np.ascontiguousarray(weights.reshape(-1, self.images), np.int32),
            self.classes,
            len(self.thresholds),
            *(column[counted] for column in (self.image, self.label, self.score, self.matched, self.ignored)),
            self.true_image,
            self.true_label,
        ).reshape(*weights.shape[:-1], len(self.thresholds), self.classes)

    def image_scores(self) -> np.ndarray:
        """(images,): F1 at the first threshold of detections that are drawn; NaN: nothing there and nothing found."""
        counted = (self.score >= SHOWN_SCORE) & (self.ignored & 1 == 0)
        found = np.bincount(self.image[counted], minlength=self.images)
        right = np.bincount(self.image[counted & (self.matched & 1 == 1)], minlength=self.images)
        return _divided(2 * right, found + np.bincount(self.true_image, minlength=self.images))

    @cached_property
    def _rank(self) -> np.ndarray:
        """(D,): how many detections of the same class in the same image come before it."""
        pair = self.label.astype(np.int64) * self.images + self.image
        order = np.argsort(pair, kind='stable')
        pairs = pair[order]
        rank = np.empty(len(pair), np.int64)
        rank[order] = np.arange(len(pair)) - np.searchsorted(pairs, pairs)
        return rank


Record = IoURecord | APRecord
_KINDS = {'iou': IoURecord, 'bbox': APRecord, 'segm': APRecord}  # by name, which is also the order in a file


def save(path: Path, records: Mapping[str, Record]) -> None:
    """Write the records of a condition, by name ('iou', 'bbox', 'segm'), to an npz file: whole or not at all."""
    arrays = {
        f'{name}.{field.name}': np.asarray(getattr(one, field.name))
        for name, one in records.items()
        for field in fields(one)
    }
    buffer = io.BytesIO()
    np.savez_compressed(buffer, format=FORMAT, **arrays)
    write_atomically(Path(path), buffer.getvalue())


def load(path: Path) -> dict[str, Record]:
    """Read what :func:`save` wrote.

    Raises:
        ValueError: the file holds something else.
    """
    content: dict[str, dict] = {}
    try:
        with np.load(path, allow_pickle=False) as arrays:
            if int(arrays['format']) != FORMAT:
                raise ValueError(f'format {arrays["format"]}, expected {FORMAT}')
            for key in set(arrays.files) - {'format'}:
                name, _, field = key.partition('.')
                content.setdefault(name, {})[field] = arrays[key] if arrays[key].ndim else arrays[key].item()
        return {name: kind(**content[name]) for name, kind in _KINDS.items() if name in content}
    except FileNotFoundError:
        raise
    except (
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
        OSError,
        EOFError,
        zipfile.BadZipFile,
        zlib.error,
    ) as error:
        raise ValueError(
            f'{path} holds no records of a condition ({error}); delete it and run the sweep again with --resume'
        ) from error


def _matched(found: list[dict], label: int, index: Mapping, thresholds: int) -> dict[str, np.ndarray]:
    """The columns of an APRecord for one class, from the entries of pycocotools (one an image)."""
    score = np.concatenate([np.asarray(one['dtScores'], float) for one in found] or [np.zeros(0)])
    order = np.argsort(-score, kind='stable')
    image = np.array([index[one['image_id']] for one in found], np.int32)
    true_image = np.repeat(image, [np.count_nonzero(one['gtIgnore'] == 0) for one in found])
    # (thresholds, D); an unmatched detection has no true object's number, which is 0
    none = [np.zeros((thresholds, 0), bool)]
    ignored = np.concatenate(none + [one['dtIgnore'] for one in found], axis=1)
    matched = np.concatenate(none + [one['dtMatches'] != 0 for one in found], axis=1) & ~ignored
    bits = (1 << np.arange(thresholds)).astype(np.uint16)
    return {
        'image': np.repeat(image, [len(one['dtScores']) for one in found])[order],
        'label': np.full(len(score), label, np.int32),
        'score': score[order],
        'matched': (bits @ matched)[order],
        'ignored': (bits @ ignored)[order],
        'true_image': true_image,
        'true_label': np.full(len(true_image), label, np.int32),
    }


def _checked(weights: np.ndarray | None, images: int) -> np.ndarray:
    if weights is None:
        return np.ones(images, np.int64)
    weights = np.asarray(weights)
    if weights.shape[-1:] != (images,) or weights.dtype.kind not in 'iu':
        raise ValueError(
            f'weights are {weights.dtype} of shape {weights.shape}; whole numbers of shape (..., {images}) are expected'
        )
    return weights


def _divided(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    """``part / whole``, NaN where ``whole`` is 0."""
    return np.divide(part, whole, out=np.full(np.shape(whole), np.nan), where=whole != 0)[()]


def _mean_of_present(values: np.ndarray) -> np.ndarray:
    """Mean over the last axis without NaN; NaN where there is nothing else."""
    present = ~np.isnan(values)
    return _divided(np.where(present, values, 0).sum(-1), present.sum(-1))
