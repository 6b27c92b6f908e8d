"""Writing result files: whole or not at all, and never over another without being told to."""

import os
import tempfile
from pathlib import Path


def write_atomically(path: Path, content: str | bytes) -> None:
    """Write a file, a text as UTF-8, so that it is there whole or not at all, whenever the process dies."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f'.{path.name}.')
    try:
        with os.fdopen(handle, 'wb') as file:
            file.write(content.encode() if isinstance(content, str) else content)
        os.chmod(temporary, 0o644)  # mkstemp makes it readable by its owner only
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def refuse_existing(path: Path, *, overwrite: bool, otherwise: str = '--out FILE') -> None:
    """Raise a FileExistsError if ``path`` exists and must not be overwritten; ``otherwise`` would write elsewhere."""
    if path.exists() and not overwrite:
        raise FileExistsError(f'{path} exists already: --overwrite replaces it, {otherwise} writes elsewhere')
