"""``python -m fan_dense SCRIPT ARGS...`` runs any script, unchanged, with the OpenMMLab stack set up.

mmdet's and mmseg's own tools import their models before they read a config, too late for its ``custom_imports``.
"""

import importlib.util
import runpy
import sys
from pathlib import Path

from fan_dense.registration import SearchFolder

USAGE = """usage: python -m fan_dense SCRIPT [ARGS ...]
       python -m fan_dense -m MODULE [ARGS ...]

Set up mmcv's operators and the models, transforms and data sets of fan_dense, then run the script or module as python
would: python -m fan_dense mmdetection/tools/test.py CONFIG CHECKPOINT"""


def main(argv: list[str]) -> None:
    """Run ``argv``, a script or ``-m`` and a module, with the arguments that follow it."""
    if argv[:1] in (['-h'], ['--help']):
        print(USAGE)
    elif len(argv) > 1 and argv[0] == '-m':
        run_module(argv[1], argv[2:])
    elif argv and not argv[0].startswith('-'):
        run_script(argv[0], argv[1:])
    else:
        _fail(USAGE)


def run_script(script: str, args: list[str]) -> None:
    """Run a file with its folder first on the search path, as ``python SCRIPT`` does."""
    if not Path(script).is_file():
        _fail(f'python -m fan_dense: no script at {script}')
    _prepare(script, args, folder=Path(script).resolve().parent)
    runpy.run_path(str(Path(script).absolute()), run_name='__main__')


def run_module(module: str, args: list[str]) -> None:
    """Run a module with the working folder first on the search path, as ``python -m MODULE`` does."""
    if not _exists(module):
        _fail(f'python -m fan_dense: no module named {module}')
    _prepare(module, args, folder=Path.cwd())
    runpy.run_module(module, run_name='__main__', alter_sys=True)


def _prepare(program: str, args: list[str], folder: Path) -> None:
    sys.argv[:] = [program, *args]
    if getattr(sys.flags, 'safe_path', False):  # python -P: the search path starts with the library
        folder = sys.path[0]
    sys.path[0] = SearchFolder(folder)


def _exists(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # of the package that it would be in
        return False


def _fail(reason: str) -> None:
    print(reason, file=sys.stderr)
    sys.exit(2)


if __name__ == '__main__':
    main(sys.argv[1:])
