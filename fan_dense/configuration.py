"""Reading a config file and the options of the command line that change it."""

import inspect
from pathlib import Path

from mmengine.config import Config

from fan_dense import checks
from fan_dense.datasets.check import check_dataset, guard_loading

NEW_KEY = '+'
# what mmengine, mmdet and mmseg read from a config beside the arguments of the Runner
_ALSO_READ = (
    'work_dir',
    'runner_type',
    'tta_model',
    'tta_pipeline',
    'sync_bn',
    'compile',
    'model_wrapper_cfg',
    'find_unused_parameters',
    'activation_checkpointing',
    'efficient_conv_bn_eval',
    'custom_imports',
)


def find(path: str | Path) -> Path:
    """``path``, if there is a file; else a FileNotFoundError names the nearest ones in that folder."""
    path = Path(path)
    if not path.is_file():
        near = [other.name for other in path.parent.glob('*.py')] if path.parent.is_dir() else []
        raise FileNotFoundError(
            f'config file {path} does not exist' + (f'; {checks.nearest(path.name, near)}' if near else '')
        )
    return path


def load(path: str | Path, options: dict | None = None):
    """The mmengine ``Config`` of a file with ``options`` (dotted key -> value) merged in.

    A key that the config does not have is refused, because a misspelt one would silently do nothing; with a ``+`` in
    front (``+model.backbone.window=7``) it is new on purpose. So is a top-level variable that was used up while
    the file was read.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the file is not a config, or an option does not fit it.
    """
    path = find(path)
    try:
        config = Config.fromfile(path)
    except SyntaxError as error:
        raise ValueError(f'config file {path} is not valid Python: {_syntax_error(path) or error}') from error
    except Exception as error:
        raise ValueError(f'config file {path} could not be read: {type(error).__name__}: {error}') from error
    if 'model' not in config:
        raise ValueError(f'config file {path} has no model: is it one of the files under _base_?')
    merge(config, options or {})
    return config


def merge(config, options: dict) -> None:
    """Merge ``options`` (dotted key -> value) into ``config`` in place; see :func:`load`."""
    for key in options:
        if not key.startswith(NEW_KEY):
            _check_key(config, key)
    config.merge_from_dict({key.removeprefix(NEW_KEY): value for key, value in options.items()})


def check_data(config, *loaders: str) -> None:
    """Look for the data of these loaders before anything is built, and let broken images be refused when they are read.

    Raises:
        FileNotFoundError: a folder or file is missing; the line says how to get the data.
        ValueError: an annotation file is not what it should be.
    """
    for loader in loaders:
        if config.get(loader):
            check_dataset(config[loader].dataset)
            guard_loading(config[loader])


def require(config, *keys: str) -> None:
    """Raise a ValueError if the config lacks one of ``keys``, or has it as None."""
    missing = [key for key in keys if config.get(key) is None]
    if missing:
        raise ValueError(f'config file {config.filename} has no {", ".join(missing)}')


def flatten(node, prefix: str = '') -> dict[str, object]:
    """Dotted key -> value of every leaf of nested dicts and lists: ``{'a.0.b': 1}`` of ``{'a': [{'b': 1}]}``."""
    if not isinstance(node, (dict, list, tuple)) or (prefix and not node):
        return {prefix: node}
    leaves = {}
    for key, value in node.items() if isinstance(node, dict) else enumerate(node):
        leaves |= flatten(value, f'{prefix}.{key}' if prefix else str(key))
    return leaves


def differences(one: dict, other: dict) -> list[str]:
    """The dotted keys whose values differ between two flattened configs, or which only one of them has."""
    missing = object()
    return sorted(key for key in one.keys() | other.keys() if one.get(key, missing) != other.get(key, missing))


def _check_key(config, key: str) -> None:
    node, seen = config, ''
    for part in key.split('.'):
        if isinstance(node, (list, tuple)):
            if not part.isdigit() or int(part) >= len(node):
                raise ValueError(f'--cfg-options {key}: {seen} has entries 0 to {len(node) - 1}, not {part!r}')
            node = node[int(part)]
        else:
            known = list(node.keys()) if hasattr(node, 'keys') else []
            if part not in known:
                if not seen and part in _read_keys():
                    return
                where = f'{seen} of the config' if seen else 'the config'
                hint = checks.nearest(part, known) if known else 'it is a single value'
                raise ValueError(
                    f'--cfg-options {key}: {where} has no {part!r}; {hint}; to add a new key write {NEW_KEY}{key}=...'
                )
            node = node[part]
        seen = f'{seen}.{part}' if seen else part
    root = key.partition('.')[0]
    if root not in _read_keys():
        places = [place for place, value in flatten(config.to_dict()).items() if _came_from(place, value, key, node)]
        raise ValueError(
            f'--cfg-options {key}: the variable {root!r} is used up while the config file is read, so that changing it '
            'now has no effect; change what it went into' + (f': {", ".join(places)}' if places else '')
        )


def _came_from(place: str, value, key: str, old) -> bool:
    """Whether a setting seems to have been made from the variable ``key``: it has its name, or contains its text."""
    contains = isinstance(old, str) and isinstance(value, str) and len(old) > 3 and old in value
    return place != key and (place.endswith(f'.{key}') or contains)


def _read_keys() -> set[str]:
    from mmengine.runner import Runner

    return {*inspect.signature(Runner.__init__).parameters, *_ALSO_READ}


def steps(node, kind: str):
    """All dicts nested in ``node`` with ``type == kind``: the steps of pipelines."""
    if isinstance(node, dict):
        if node.get('type') == kind:
            yield node
        for value in node.values():
            yield from steps(value, kind)
    elif isinstance(node, (list, tuple)):
        for value in node:
            yield from steps(value, kind)


def _syntax_error(path: Path) -> str | None:
    try:
        compile(path.read_text(), str(path), 'exec')
    except SyntaxError as error:
        return f'line {error.lineno}: {error.msg}'
