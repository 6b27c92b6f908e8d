"""Writing result files: whole or not at all, and never over another without being told to."""

import os
import tempfile
from pathlib import Path


def write_atomically(path: Path, text: str) -> None:
    """Write a text file so that it is there with all its content or not at all, whenever the process dies."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f'.{path.name}.')
    try:
        with os.fdopen(handle, 'w') as file:
            file.write(text)
        os.chmod(temporary, 0o644)  # mkstemp makes it readable by its owner only
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def refuse_existing(path: Path, *, overwrite: bool) -> None:
    """Raise a FileExistsError if ``path`` exists and must not be overwritten."""
    if path.exists() and not overwrite:
        raise FileExistsError(f'{path} exists already: --overwrite replaces it, --out FILE writes elsewhere')
