"""Which corruptions there are, by name, and how a user adds one.

The four families (noise, blur, weather, digital) are imported when one of their corruptions is first used: they need
numba, whose import takes longer than everything else here together.
"""

import difflib
import importlib
import inspect
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

COMMON = {
    'noise': ('gaussian_noise', 'shot_noise', 'impulse_noise'),
    'blur': ('defocus_blur', 'glass_blur', 'motion_blur', 'zoom_blur'),
    'weather': ('snow', 'frost', 'fog', 'brightness'),
    'digital': ('contrast', 'elastic_transform', 'pixelate', 'jpeg_compression'),
}
EXTRA = {'noise': ('speckle_noise',), 'blur': ('gaussian_blur',), 'weather': ('spatter',), 'digital': ('saturate',)}
VARIANTS = {'weather': ('frost_imagecorruptions',)}
FAMILY = {name: family for table in (COMMON, EXTRA, VARIANTS) for family in table for name in table[family]}
SUBSETS = ('common', 'extra', 'all', 'noise', 'blur', 'weather', 'digital', 'variants', 'user')

Image = np.ndarray
Params = dict[str, object]


@dataclass(frozen=True)
class Corruption:
    """One corruption: how its random parameters are drawn, and how they are applied.

    Args:
        name: The name that it is called by.
        apply: ``apply(image, severity, **params) -> image``, a pure function. The image is (H, W, C) uint8, C order.
        draw: ``draw(image, severity, rng) -> params``; None for a corruption without random parameters.
        colour: True if it needs three channels (C = 3); a grey image is stacked for it. Otherwise C is 1 or 3.
    """

    name: str
    apply: Callable[..., Image]
    draw: Callable[[Image, int, np.random.Generator | np.random.RandomState], Params] | None = None
    colour: bool = False


_registered: dict[str, Corruption] = {}


def register(name: str, *, draw: Callable | None = None, colour: bool = False) -> Callable:
    """Decorator: make a function a corruption that every tool knows by ``name``.

    The function is called as ``function(image, severity, **params)``, with an (H, W, C) uint8 image that it must not
    change, and returns an image of that shape and type. ``params`` is what ``draw(image, severity, rng)`` returned.
    Without ``draw``, a function that has a parameter ``rng`` is given a numpy Generator, whose seed is then what is
    drawn (so that a replay is bit-equal); one that has none is taken as free of random parameters.

    Args:
        name: A name that is not taken.
        draw: See :class:`Corruption`.
        colour: See :class:`Corruption`.

    Raises:
        ValueError: The name cannot name a folder, or is taken.
    """
    if not isinstance(name, str) or not name or set(name) & set('/\\'):
        raise ValueError(f'a corruption needs a name that can name a folder, got {name!r}')
    if name in FAMILY or name in _registered:
        raise ValueError(f'there is already a corruption {name!r}, choose another name')

    def decorate(function: Callable) -> Callable:
        if draw is None and 'rng' in inspect.signature(function).parameters:
            define(name, draw=_draw_seed, colour=colour)(_with_generator(function))
        else:
            define(name, draw=draw, colour=colour)(function)
        return function

    return decorate


def define(name: str, *, draw: Callable | None = None, colour: bool = False) -> Callable:
    """:func:`register` for the names of this module's tables."""

    def decorate(function: Callable) -> Callable:
        add(Corruption(name, function, draw, colour))
        return function

    return decorate


def add(corruption: Corruption) -> None:
    _registered[corruption.name] = corruption


def _draw_seed(image: Image, severity: int, rng: np.random.Generator | np.random.RandomState) -> Params:
    return {'seed': int.from_bytes(rng.bytes(16), 'little')}


def _with_generator(function: Callable) -> Callable:
    return lambda image, severity, seed: function(image, severity, rng=np.random.Generator(np.random.Philox(seed)))


def get(name: str) -> Corruption:
    """The corruption of that name.

    Raises:
        ValueError: There is none; the message lists the nearest names.
    """
    if name not in _registered and name in FAMILY:
        importlib.import_module(f'fan_dense.corruptions.{FAMILY[name]}')
    if name not in _registered:
        known = sorted({*FAMILY, *_registered})
        near = difflib.get_close_matches(str(name), known, n=3, cutoff=0.5)
        hint = f'did you mean {" or ".join(near)}?' if near else f'there are {", ".join(known)}'
        raise ValueError(f'unknown corruption {name!r}; {hint}')
    return _registered[name]


def names(subset: str = 'common') -> tuple[str, ...]:
    """Names of a subset, in the published order.

    ``common`` are the 15 of the benchmarks, ``extra`` the 4 held-out ones, ``all`` both; ``noise``, ``blur``,
    ``weather`` and ``digital`` are the groups of ``all``; ``variants`` are published corruptions with other data, and
    ``user`` those added by :func:`register`. ``all`` never grows, so that a mean over it always means the same.

    Raises:
        ValueError: There is no such subset.
    """
    subsets = {
        'common': _flat(COMMON),
        'extra': _flat(EXTRA),
        'all': _flat(COMMON) + _flat(EXTRA),
        'variants': _flat(VARIANTS),
        'user': tuple(name for name in _registered if name not in FAMILY),
    }
    subsets |= {family: COMMON[family] + EXTRA[family] for family in COMMON}
    if subset not in subsets:
        raise ValueError(f'unknown subset of corruptions {subset!r}, expected one of {", ".join(SUBSETS)}')
    return subsets[subset]


def _flat(table: dict[str, tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(name for family in table.values() for name in family)
