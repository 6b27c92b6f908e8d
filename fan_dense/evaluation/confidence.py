"""Confidence intervals by the bootstrap over images: how far the figures might move with other images of the kind.

As many images as there are, are drawn with replacement, again and again, and all figures taken anew each time, exactly:
neither AP nor mIoU is a mean over images. One draw holds for all conditions, so that rPC, whose two parts move
together, gets the interval of their ratio. An interval goes from percentile to percentile of the draws (Efron and
Tibshirani, An Introduction to the Bootstrap, 1993, chapter 13).

It says nothing of another training run, or of other draws of the corruptions. Images are taken as independent: for
neighbouring frames of one drive it is too narrow. It is rough where a class is in few images: a draw without any of
them has no figure of this class, and takes the mean over the others, as the metric would.
"""

from collections.abc import Mapping

import numpy as np

from fan_dense.evaluation.metrics import conditions_of, mean, ratio
from fan_dense.evaluation.protocol import Protocol
from fan_dense.evaluation.records import APRecord, Record
from fan_dense.evaluation.result import Condition

# AP takes 20 to 40 ns a detection and draw: 2 to 4 minutes for boxes, and as much for masks
DETECTIONS_DRAWN = 5 * 10**9
FEWEST_DRAWS = 200


def intervals(
    protocol: Protocol,
    records: Mapping[Condition, Mapping[str, Record]],
    *,
    resamples: int = 1000,
    level: float = 0.95,
    seed: int = 0,
) -> dict[str, dict[str, list[float]]]:
    """Intervals of P, mPC and rPC of every metric that the records give.

    Args:
        protocol: whose conditions count, those that are there, and how their mean is taken.
        records: of one model, by condition, and by name.
        resamples: draws. AP gets fewer, though not fewer than 200 of them, if all its records together would make it
            draw more than 5 * 10**9 detections. 5,000 images under 76 conditions with 30 detections each get 438.
        level: of confidence.
        seed: of the draws; the same seed gives the same intervals.

    Returns:
        metric -> {'clean': [low, high], 'mpc': ..., 'rpc': ...}; NaN where there is no figure. Empty without records.

    Raises:
        ValueError: the records are not of the same images and kinds, or an argument is out of range.
    """
    if type(resamples) is not int or resamples < 1:
        raise ValueError(f'resamples is {resamples!r}; it must be a whole number, 1 or larger')
    if not 0 < level < 1:
        raise ValueError(f'level is {level!r}; it must lie between 0 and 1')
    found = {condition: records[key] for condition, key in conditions_of(protocol, records).items() if key is not None}
    if not any(found.values()):
        return {}
    weights = drawn(_common_images(found), resamples, seed)
    draws = {
        name: _affordable(resamples, [by_name[name] for by_name in found.values()])
        for name in next(iter(found.values()))
    }
    clean, corrupted = {}, {}
    for condition, by_name in found.items():
        for name, record in by_name.items():
            for metric, figures in record.figures(weights[: draws[name]]).items():
                if condition.corruption is None:
                    clean[metric] = figures
                else:
                    corrupted.setdefault(metric, {})[condition.corruption, condition.severity] = figures
    return {
        metric: _of_metric(protocol, clean.get(metric, np.nan), corrupted.get(metric, {}), level)
        for metric in clean | corrupted
    }


def drawn(images: int, resamples: int, seed: int) -> np.ndarray:
    """(resamples, images) int32: how many times each image is drawn."""
    rng = np.random.default_rng(seed)
    return np.stack(
        [np.bincount(rng.integers(images, size=images), minlength=images).astype(np.int32) for _ in range(resamples)]
    )


def _of_metric(protocol: Protocol, clean, corrupted: dict, level: float) -> dict[str, list[float]]:
    mpc = mean(protocol, corrupted)
    return {
        key: _interval(values, level) for key, values in (('clean', clean), ('mpc', mpc), ('rpc', ratio(mpc, clean)))
    }


def _interval(values, level: float) -> list[float]:
    """Percentiles of the draws that have a figure: one without any true object has none."""
    values = np.atleast_1d(values)
    values = values[~np.isnan(values)]
    if not len(values):
        return [np.nan, np.nan]
    return np.quantile(values, [(1 - level) / 2, (1 + level) / 2]).tolist()


def _affordable(resamples: int, records: list[Record]) -> int:
    detections = sum(len(one.score) for one in records if isinstance(one, APRecord))
    return min(resamples, max(FEWEST_DRAWS, DETECTIONS_DRAWN // max(detections, 1)))


def _common_images(found: Mapping[Condition, Mapping[str, Record]]) -> int:
    """The number of images of all records."""
    described = {condition: {name: one.images for name, one in by_name.items()} for condition, by_name in found.items()}
    first, expected = next(iter(described.items()))
    for condition, numbers in described.items():
        if numbers != expected or len(set(numbers.values())) > 1:
            raise ValueError(
                f'records of {condition} are of {_told(numbers)}, those of {first} of {_told(expected)}: '
                'they do not belong together'
            )
    return next(iter(expected.values()))


def _told(numbers: dict[str, int]) -> str:
    return ', '.join(f'{images} images ({name})' for name, images in numbers.items()) or 'nothing'
