"""Safe loading of mmengine's and timm's checkpoints with torch >= 2.6.

Since torch 2.6 ``torch.load`` refuses every type but tensors and plain containers. mmengine 0.10.7 has not followed: it
cannot read the history buffers, numpy values and scheduler functions in its own checkpoints, nor timm's ``Namespace``.
All of its loaders (local files, URLs, model zoos; hence ``resume``, ``load_from`` and ``init_cfg``) get here an
allow-list of exactly these, for as long as they read. A checkpoint that asks for anything else is refused in one line
that names it. Paths and URLs may ask for a SHA-256, see :mod:`~fan_dense.compat.download`.

numpy's own types are not on the list, although torch's documentation suggests them: ``numpy.ndarray(1, 'O', bytes)``
takes the bytes for the address of a Python object, and ``dtype.__setstate__`` believes any flag it is told, so either
turns a file into memory corruption. Their names stand for the small classes below, which know numbers and text only.
"""

import functools
import re
from argparse import Namespace
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from mmengine.logging import HistoryBuffer
from mmengine.optim.scheduler.param_scheduler import OneCycleParamScheduler
from mmengine.runner.checkpoint import CheckpointLoader
from torch.serialization import safe_globals

from .download import FetchError, fetch


class CheckpointError(ValueError):
    """A file that is no checkpoint, is damaged, or asks for more than a checkpoint may."""


class PickledDtype:
    """A numpy dtype of numbers or text, as pickled: ``('f8', False, True)`` and a state with the byte order."""

    def __init__(self, code: str, align: bool = False, copy: bool = True):
        if not re.fullmatch(r'[biufcSU]\d+', code):
            raise CheckpointError(f'holds numpy values of type {code!r}, where only numbers and text may be: refused')
        self.dtype = np.dtype(code)

    def __setstate__(self, state: tuple):
        self.dtype = self.dtype.newbyteorder(state[1])


class PickledArray:
    """A numpy array as pickled: rebuilt empty, then filled by a state (version, shape, dtype, fortran, data)."""

    def __setstate__(self, state: tuple):
        _, shape, pickled, fortran, data = state
        self.array = np.frombuffer(data, pickled.dtype).reshape(shape, order='F' if fortran else 'C').copy()


def _reconstruct(kind: type, shape: tuple, code: bytes) -> PickledArray:
    return PickledArray()


def _scalar(pickled: PickledDtype, data: bytes) -> np.generic:
    return np.frombuffer(data, pickled.dtype)[0]


def _getattr(owner: type, name: str) -> Callable:
    """The few functions that mmengine pickles, by ``getattr``, into history buffers and one-cycle schedulers."""
    if (owner, name) not in FUNCTIONS:
        raise CheckpointError(f'asks for the attribute {name!r} of {owner!r}: refused')
    return getattr(owner, name)


FUNCTIONS = {
    *((HistoryBuffer, name) for name in ('min', 'max', 'mean', 'current')),
    *((OneCycleParamScheduler, name) for name in ('_annealing_cos', '_annealing_linear')),
}
# (what is used, the name it goes by in the file); torch allows a name, then checks that what is called is in the list
ALLOWED = [
    bytes,  # an empty string of them; longer ones are encoded text
    Namespace,
    HistoryBuffer,
    OneCycleParamScheduler,
    (_getattr, 'builtins.getattr'),
    (PickledDtype, 'numpy.dtype'),
    (PickledArray, 'numpy.ndarray'),
    # numpy 2 renamed numpy.core
    *((_reconstruct, f'numpy.{core}.multiarray._reconstruct') for core in ('core', '_core')),
    *((_scalar, f'numpy.{core}.multiarray.scalar') for core in ('core', '_core')),
]


def _plain(value: Any) -> Any:
    """Put the arrays in place of their pickled form, within containers too, which stay the same objects."""
    if isinstance(value, PickledArray):
        return value.array
    if isinstance(value, PickledDtype):
        return value.dtype
    if isinstance(value, tuple):
        return tuple(map(_plain, value)) if type(value) is tuple else value  # torch.Size
    if isinstance(value, list):
        value[:] = map(_plain, value)
    elif isinstance(value, dict):
        for key, item in value.items():
            value[key] = _plain(item)
    elif isinstance(value, (HistoryBuffer, Namespace)):
        _plain(vars(value))
    return value


def _refusal(error: Exception) -> str:
    """One line from torch's many, without its advice to switch the check off."""
    if isinstance(error, CheckpointError):
        return str(error)
    if match := re.search(r'GLOBAL (\S+)', str(error)):
        return (
            f'asks for {match[1]}, which is not among the types that a checkpoint may hold: refused, since it could '
            'run any code (save it again with tensors and plain Python values only)'
        )
    reason = str(error).rpartition('WeightsUnpickler error:')[2].partition('In PyTorch 2.6')[0].strip()
    first_line = reason.partition('\n')[0]
    why = f'{type(error).__name__} {first_line}'.rstrip()
    return f'cannot be read as a checkpoint: it is none, or incomplete ({why})'


def safely(load: Callable) -> Callable:
    """Let ``load(filename, map_location)``, a loader of mmengine, read the types of the allow-list.

    Raises:
        CheckpointError: the file is damaged or asks for something that is not on the list; names both.
    """

    @functools.wraps(load)
    def load_safely(filename, map_location=None):
        try:
            with safe_globals(ALLOWED):
                return _plain(load(filename, map_location=map_location))
        except (FileNotFoundError, FetchError):  # name it themselves
            raise
        except Exception as error:  # a damaged pickle fails in whatever instruction it comes to
            raise CheckpointError(f'{filename} {_refusal(error)}') from None

    return load_safely


@CheckpointLoader.register_scheme(prefixes=('', 'http://', 'https://'), force=True)
def load_from_file(filename: str, map_location=None):
    """What a checkpoint holds, from a path or URL as in :func:`~fan_dense.compat.download.fetch`."""
    return torch.load(fetch(filename), map_location=map_location, weights_only=True)


for prefix, loader in list(CheckpointLoader._schemes.items()):  # mmengine has no public list of them
    CheckpointLoader.register_scheme(prefix, safely(loader), force=True)
