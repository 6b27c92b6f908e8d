"""mmengine's questions about installed packages, answered where setuptools comes without ``pkg_resources``.

mmengine 0.10.7 asks it before it reads a base config of another package (``_base_ = 'mmdet::...'``); setuptools
has dropped it in version 82. Importing this module lets mmengine ask the standard library, unless it is there.
"""

import importlib.util
import sys
from importlib import metadata
from pathlib import Path


def is_installed(package: str) -> bool:
    """Whether there is a distribution or an importable module of that name."""
    try:
        return bool(get_installed_path(package))
    except (ModuleNotFoundError, ValueError):
        return False


def get_installed_path(package: str) -> str:
    """Folder of an installed module, named by itself ('mmseg') or its distribution ('mmsegmentation').

    Raises:
        PackageNotFoundError: there is neither.
    """
    spec = importlib.util.find_spec(package)
    if spec is None:
        spec = importlib.util.find_spec(package2module(package))
    if spec is None or spec.origin is None:
        raise metadata.PackageNotFoundError(package)
    return str(Path(spec.origin).parent)


def package2module(package: str) -> str:
    """The module that a distribution installs.

    Raises:
        PackageNotFoundError: there is no such distribution.
        ValueError: it does not say.
    """
    modules = (metadata.distribution(package).read_text('top_level.txt') or '').split()
    if not modules:
        raise ValueError(f'can not infer the module name of {package}')
    return modules[0]


def _replace(functions) -> None:
    """Put ``functions`` in the place of mmengine's, also where its modules have imported them by name already."""
    host = sys.modules['mmengine.utils.package_utils']
    for function in functions:
        original = getattr(host, function.__name__)
        for name, module in list(sys.modules.items()):
            if name.startswith('mmengine') and vars(module).get(function.__name__) is original:
                setattr(module, function.__name__, function)


if importlib.util.find_spec('pkg_resources') is None:
    _replace((is_installed, get_installed_path, package2module))
