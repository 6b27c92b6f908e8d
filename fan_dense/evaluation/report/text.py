"""How figures and names are written for people: fractions in per cent with one decimal, absent as a dash."""

import math
from collections.abc import Iterable, Sequence

ABSENT = '–'
_TITLES = {
    'mIoU': 'Mean IoU',
    'aAcc': 'Pixel accuracy',
    'mAcc': 'Mean class accuracy',
    'bbox_mAP': 'Box AP',
    'segm_mAP': 'Mask AP',
}
_SUFFIXES = {'50': ' at IoU 0.50', '75': ' at IoU 0.75', 's': ', small', 'm': ', medium', 'l': ', large'}
_KINDS = {'bbox': 'Box AP', 'segm': 'Mask AP'}
MAIN = ('mIoU', 'bbox_mAP', 'segm_mAP')  # what a report is about; the others go into one table


def percent(value: float) -> str:
    """
    >>> percent(0.4567), percent(math.nan)
    ('45.7', '–')
    """
    return ABSENT if math.isnan(value) else f'{100 * value:.1f}'


def interval(ends: Sequence[float] | None) -> str:
    """
    >>> interval((0.1, 0.25)), interval(None)
    ('10.0–25.0', '')
    """
    return '' if ends is None or any(map(math.isnan, ends)) else f'{percent(ends[0])}–{percent(ends[1])}'


def duration(seconds: float) -> str:
    """
    >>> duration(4.26), duration(312), duration(7500)
    ('4.3 s', '5 min 12 s', '2 h 05 min')
    """
    if seconds < 60:
        return f'{seconds:.1f} s'
    minutes, rest = divmod(round(seconds), 60)
    return f'{minutes} min {rest} s' if minutes < 60 else f'{minutes // 60} h {minutes % 60:02} min'


def title(metric: str) -> str:
    """
    >>> title('bbox_mAP_50'), title('segm_mAP_s'), title('mIoU'), title('mine')
    ('Box AP at IoU 0.50', 'Mask AP, small', 'Mean IoU', 'mine')
    """
    kind, _, size = metric.partition('_mAP_')
    if kind in _KINDS and size in _SUFFIXES:
        return _KINDS[kind] + _SUFFIXES[size]
    return _TITLES.get(metric, metric)


def spaced(name: str) -> str:
    """The name of a corruption or condition for reading: 'gaussian_noise 3' is 'gaussian noise 3'."""
    return name.replace('_', ' ')


def listed(names: Iterable[str], most: int = 12) -> str:
    """
    >>> listed(['a', 'b', 'c'], most=2)
    'a, b and 1 more'
    """
    names = list(names)
    rest = len(names) - most
    return ', '.join(names[:most]) + (f' and {rest} more' if rest > 0 else '')
