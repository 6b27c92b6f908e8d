"""Checks of what a user wrote, with messages that say what was meant. No torch, no OpenMMLab."""

import difflib
from collections.abc import Iterable

from fan_dense.corruptions import names

SEVERITIES = (1, 2, 3, 4, 5)
IMAGE_ORDERS = ('bgr', 'rgb')


def nearest(name: str, known: Iterable[str]) -> str:
    """The end of a message about an unknown name: the nearest known ones, or all where none is near."""
    known = sorted(known)
    close = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
    if close:
        return f'did you mean {" or ".join(close)}?'
    return f'known: {", ".join(known[:30])}' + (' ...' if len(known) > 30 else '')


def one_of(what: str, value: object, allowed: Iterable) -> None:
    """Raise a ValueError that quotes ``value`` and the allowed ones, unless it is one of them."""
    allowed = tuple(allowed)
    if value not in allowed:
        raise ValueError(f'{what} is {value!r}; it must be one of {", ".join(map(repr, allowed))}')


def corruption_and_severity(corruption: str | None, severity: int | None) -> None:
    """Raise a ValueError unless both are None (clean), or a known corruption and a severity from 1 to 5."""
    if corruption is None:
        if severity is not None:
            raise ValueError(f'severity is {severity!r}, but no corruption is named')
        return
    known = (*names('all'), *names('variants'), *names('user'))
    if corruption not in known:
        raise ValueError(f'unknown corruption {corruption!r}; {nearest(str(corruption), known)}')
    if type(severity) is not int or severity not in SEVERITIES:
        raise ValueError(f'severity of {corruption} is {severity!r}; it must be a whole number from 1 to 5')
