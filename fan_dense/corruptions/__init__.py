"""The 15 + 4 image corruptions of the robustness benchmarks: reproducible anywhere, and fast.

>>> import numpy as np
>>> from fan_dense.corruptions import corrupt, names, seed_for
>>> image = np.full((48, 64, 3), 128, np.uint8)
>>> foggy = corrupt(image, 'fog', 3, rng=seed_for(0, 'frame_0001.png', 'fog', 3))
>>> foggy.shape, foggy.dtype.name
((48, 64, 3), 'uint8')
>>> names('weather')
('snow', 'frost', 'fog', 'brightness', 'spatter')
"""

from fan_dense.corruptions.engine import apply, corrupt, draw
from fan_dense.corruptions.registry import SUBSETS, Corruption, names, register
from fan_dense.corruptions.seeding import digest, seed_for

__all__ = ['SUBSETS', 'Corruption', 'apply', 'corrupt', 'digest', 'draw', 'names', 'register', 'seed_for']
