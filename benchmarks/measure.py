"""What the corruption benchmark measures with, in both environments: needs numpy and Linux."""

import ctypes
from pathlib import Path

import numpy as np


class Peak:
    """``with Peak() as peak: ...`` -- then ``peak.bytes`` is by how much the resident memory rose above its start."""

    def __enter__(self):
        ctypes.CDLL(None).malloc_trim(0)  # what was freed is no longer resident
        Path('/proc/self/clear_refs').write_text('5')  # resets VmHWM
        self.start = _status('VmRSS')
        return self

    def __exit__(self, *_):
        self.bytes = max(0, _status('VmHWM') - self.start)


def _status(field: str) -> int:
    for line in Path('/proc/self/status').read_text().splitlines():
        if line.startswith(f'{field}:'):
            return int(line.split()[1]) * 1024
    raise OSError(f'/proc/self/status has no {field}')


def tiled(frame: np.ndarray, height: int, width: int) -> np.ndarray:
    """An image of that size, made of copies of a smaller one."""
    rows, columns = -(-height // frame.shape[0]), -(-width // frame.shape[1])
    return np.ascontiguousarray(np.tile(frame, (rows, columns, 1))[:height, :width])
