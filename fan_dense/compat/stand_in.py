"""``mmcv._ext`` for an mmcv that was installed without its compiled part (mmcv-lite).

The finder stands at the end of ``sys.meta_path``: it is asked only after every other finder has failed, so a compiled
mmcv always wins. The module comes with a real spec and loader, because mmengine looks for it with
``pkgutil.find_loader`` and takes a spec without a loader for an mmcv without operators, which would silently switch
off the learning-rate rule of deformable layers.
"""

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import logging
import sys

NO_MMCV = (
    "mmcv is not installed: pip install 'fan_dense[lite]' (mmcv-lite 2.1.0, no compiler needed), "
    'or a compiled mmcv >= 2.0.0rc4, < 2.2.0'
)


class StandInFinder(importlib.abc.MetaPathFinder):
    """Finds ``mmcv._ext`` where nothing else does, and says what to install where there is no mmcv at all."""

    def find_spec(self, fullname, path=None, target=None):
        if fullname == 'mmcv._ext':
            return importlib.machinery.ModuleSpec(fullname, StandInLoader(), origin='fan_dense.compat.ops')
        if fullname == 'mmcv':
            raise ModuleNotFoundError(NO_MMCV, name='mmcv')
        return None


class StandInLoader(importlib.abc.Loader):
    """Fills the module with the operators of :mod:`fan_dense.compat.ops`."""

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        vars(module).update(importlib.import_module('fan_dense.compat.ops').extension())


def install() -> None:
    """Put the finder last on ``sys.meta_path``, once. Says in one line what to install if there is no mmcv."""
    if any(isinstance(finder, StandInFinder) for finder in sys.meta_path):
        return
    if importlib.util.find_spec('mmcv') is None:
        logging.getLogger('fan_dense').warning(NO_MMCV)
    sys.meta_path.append(StandInFinder())
