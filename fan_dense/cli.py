"""What all commands share: one line for bad input, exit code 2, a full traceback on request.

The line is the message of the exception. Our own exceptions name the file, option or value, what was expected and
what to do; those of the libraries below are shortened to their first telling line.
"""

import argparse
import os
import re
import sys
import warnings
from collections.abc import Callable

from mmengine.config import DictAction

from fan_dense import checks

DEBUG = 'FAN_DENSE_DEBUG'
# mmengine wraps what a constructor raises: "class `FAN` in fan_dense/models/fan.py: the message"
_REGISTRY_PREFIX = re.compile(r'^(class `\w+` in [\w/]+\.py: )+')
_OURS = re.compile(r'^fan_dense(\.\w+)+: ')  # the type of an error, in the traceback of a worker
_UNREGISTERED = re.compile(r'(\S+) is not in the (?:\w+::)?(\w+( \w+)*) registry.*')


class Options(DictAction):
    """``--cfg-options KEY=VALUE ...``; keys and values as in mmengine."""

    def __call__(self, parser, namespace, values, option_string=None):
        for value in values:
            if '=' not in value:
                parser.error(f'{option_string} wants KEY=VALUE, got {value!r}')
        super().__call__(parser, namespace, values, option_string)


def at_least(smallest: int) -> Callable[[str], int]:
    """The ``type`` of an argument that is a whole number, ``smallest`` or larger."""

    def whole_number(text: str) -> int:
        if not text.lstrip('-').isdigit() or int(text) < smallest:
            raise argparse.ArgumentTypeError(f'{text!r} is not a whole number, {smallest} or larger')
        return int(text)

    return whole_number


class Parser(argparse.ArgumentParser):
    """An argument parser whose complaints are one line, and which knows ``--traceback``."""

    def __init__(self, description: str):
        super().__init__(description=description)
        self.add_argument('--traceback', action='store_true', help=f'show where an error arose (or set {DEBUG}=1)')

    def error(self, message: str):
        self.exit(2, f'error: {message} (see {self.prog} --help)\n')


def run(command: Callable[[argparse.Namespace], None], parser: argparse.ArgumentParser, argv=None) -> int:
    """Parse the command line, run ``command`` on it, and return the exit code: 0, 2 (error) or 130 (interrupted)."""
    args = parser.parse_args(argv)
    # what the libraries have to say about their own code
    warnings.filterwarnings('ignore', module=r'mm(engine|cv|det|seg)\.')
    warnings.filterwarnings('ignore', message='This DataLoader will create')
    try:
        command(args)
    except KeyboardInterrupt:
        print('interrupted', file=sys.stderr)
        return 130
    except Exception as error:
        if args.traceback or os.environ.get(DEBUG) == '1':
            raise
        print(f'error: {one_line(error)}', file=sys.stderr)
        return 2
    return 0


def one_line(error: BaseException) -> str:
    """The message of an exception in one line; those that do not come from us keep their type and get a hint."""
    # str(KeyError('a')) is "'a'"
    text = str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)
    lines = [line.strip() for line in text.splitlines() if line.strip()] or ['']
    # an error in a worker of the data loader carries the worker's traceback; its last line is the error
    line = lines[-1] if 'DataLoader worker' in lines[0] else lines[0]
    line, ours = _OURS.subn('', line)
    line = _UNREGISTERED.sub(_nearest_registered, _REGISTRY_PREFIX.sub('', line))
    if ours or _is_ours(error):
        return line
    kind = '' if line.startswith(f'{type(error).__name__}:') else f'{type(error).__name__}: '
    return f'{kind}{line} (--traceback shows where)'


def _is_ours(error: BaseException) -> bool:
    """Whether fan_dense raised it, or the exception that a library wrapped in it."""
    while error is not None:
        frame = error.__traceback__
        while frame is not None and frame.tb_next is not None:
            frame = frame.tb_next
        if frame is not None and frame.tb_frame.f_globals.get('__name__', '').startswith('fan_dense.'):
            return True
        error = error.__context__
    return False


def _nearest_registered(unknown: re.Match) -> str:
    """What to say of a ``type`` in a config that no OpenMMLab package has registered."""
    import mmengine.registry

    name, kind = unknown.group(1), unknown.group(2)
    known = set()
    for registry in vars(mmengine.registry).values():
        if isinstance(registry, mmengine.registry.Registry) and registry.name == kind:
            known.update(registry.module_dict, *(child.module_dict for child in registry.children.values()))
    return f'unknown {kind} {name!r}; {checks.nearest(name, known)}'
