"""Loading a checkpoint into the very model that it is of, and knowing it again."""

import hashlib
from pathlib import Path

from mmengine.runner import Runner


def load_exactly(runner: Runner, checkpoint: Path, config: str) -> str:
    """Load ``checkpoint`` into the runner's model; a ValueError says how the two differ, if they do.

    mmengine by default loads what fits, warns, and leaves the rest at random.

    Returns:
        The text of the config that it was trained with, empty if it has none.
    """
    try:
        content = runner.load_checkpoint(str(checkpoint), strict=True)
    except AttributeError as error:  # mmengine takes whatever it has read for a dict of weights
        raise ValueError(f'checkpoint {checkpoint} holds no weights: {error}') from error
    except RuntimeError as error:
        if 'state dict' not in str(error):
            raise
        raise ValueError(
            f'checkpoint {checkpoint} is not of the model in {config}: {_mismatch(str(error))}; '
            'give the config that it was trained with'
        ) from error
    text = content.get('meta', {}).get('cfg')
    return text if isinstance(text, str) else ''


def file_digest(path: Path) -> str:
    """The first 64 bits of a file's SHA-256, in hex."""
    state = hashlib.sha256()
    with open(path, 'rb') as file:
        while block := file.read(1 << 20):
            state.update(block)
    return state.hexdigest()[:16]


def _mismatch(message: str) -> str:
    """What mmengine says about two state dicts, shortened: how many names, and the first of each kind."""
    said = []
    for kind, start in (
        ('missing', 'missing keys in source state_dict: '),
        ('unexpected', 'unexpected key in source state_dict: '),
    ):
        names = [line.removeprefix(start) for line in message.splitlines() if line.startswith(start)]
        if names:
            found = names[0].split(', ')
            said.append(f'{len(found)} {kind} (the first is {found[0]})')
    sizes = [line.strip() for line in message.splitlines() if line.startswith('size mismatch')]
    if sizes:
        said.append(f'{len(sizes)} of another shape ({sizes[0].rstrip(".")})')
    return ', '.join(said)
