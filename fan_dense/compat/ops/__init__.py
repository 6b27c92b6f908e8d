"""The operators behind ``mmcv._ext``: torchvision's compiled ones where they are the same, else vectorised torch.

The functions have the signatures under which mmcv.ops calls them: it allocates the output tensors, the function fills
them in place. They run on any device. Nothing is compiled here.
"""

import importlib
from collections.abc import Callable

from fan_dense.compat.ops.table import FAMILIES

REMEDY = 'a compiled mmcv >= 2.0.0rc4, < 2.2.0 in place of mmcv-lite has it, and fan_dense then uses that'


def extension() -> dict[str, Callable]:
    """All functions that mmcv.ops asks of ``mmcv._ext``, by name. Those that are absent raise when they are called."""
    functions = {}
    for family in FAMILIES:
        module = family.module and importlib.import_module(f'{__name__}.{family.module}')
        functions |= {name: getattr(module, name) if module else _absent(name) for name in family.names}
    return functions


def _absent(name: str) -> Callable:
    def operator(*args, **kwargs):
        raise NotImplementedError(
            f'the mmcv operator {name} is not part of fan_dense: {REMEDY} (see docs/operators.md)'
        )

    operator.__name__ = name
    return operator
