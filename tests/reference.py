"""Where the reference data lie. Tests that need them skip, saying so, where they are not there."""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / 'shared'


def reference(*parts: str) -> Path:
    """Path of a folder or file of the reference data (``FAN_DENSE_REFERENCE``, or ``../shared/reference``)."""
    return _existing(Path(os.environ.get('FAN_DENSE_REFERENCE', SHARED / 'reference')).joinpath(*parts))


def camvid() -> Path:
    """Path of the CamVid frames (``FAN_DENSE_CAMVID``, or ``../shared/data/camvid``)."""
    return _existing(Path(os.environ.get('FAN_DENSE_CAMVID', SHARED / 'data' / 'camvid')))


def _existing(path: Path) -> Path:
    if not path.exists():
        pytest.skip(f'reference data not found at {path}')
    return path
