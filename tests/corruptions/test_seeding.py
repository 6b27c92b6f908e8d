"""Pixels depend on (seed, image key, corruption, severity) and on nothing else."""

import hashlib
import os
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest

from fan_dense.corruptions import corrupt, names, seed_for
from tests.corruptions.test_engine import picture

# made on x86-64; jpeg_compression and pixelate stand and fall with Pillow's version and are left out
DIGESTS = {
    'gaussian_noise': 'ae9fb84d63bceb27',
    'shot_noise': '2295d65ff5f0f4de',
    'impulse_noise': '5fe9edf4be967f56',
    'defocus_blur': '326eb4fcd8e76154',
    'glass_blur': '5683e33960fe29ee',
    'motion_blur': '8b9942140e0baeb8',
    'zoom_blur': '83e54fd8aaa35953',
    'snow': 'bcf4f3a41b83cbbc',
    'frost': '933d0010d77f9910',
    'fog': '5ec4348387fb5237',
    'brightness': '5a694933cb450f90',
    'contrast': '03a740890fbbdb27',
    'elastic_transform': '0841cbc551faf1cc',
    'speckle_noise': '7088afdb1b3d7106',
    'gaussian_blur': '528ab99f3513e71a',
    'spatter': 'aee8e0255d24045f',
    'saturate': '37d3f7995e40a0cf',
}


def digest(name: str, key: str = 'a/b.png', seed: int = 3) -> str:
    out = corrupt(picture(96, 130), name, 3, rng=seed_for(seed, key, name, 3))
    return hashlib.blake2b(out.tobytes(), digest_size=8).hexdigest()


def test_the_generator_is_the_same_everywhere():
    assert seed_for(0, 'a.png', 'fog', 3).integers(0, 2**63, 2).tolist() == [5232665444004901259, 8729778898566841564]


@pytest.mark.parametrize('name', DIGESTS)
def test_stored_digests(name):
    assert digest(name) == DIGESTS[name]


def test_each_argument_counts():
    streams = {
        tuple(seed_for(*arguments).integers(0, 2**63, 2))
        for arguments in [
            (0, 'a.png', 'fog', 3),
            (1, 'a.png', 'fog', 3),
            (-1, 'a.png', 'fog', 3),
            (0, 'b.png', 'fog', 3),
            (0, 'a.png', 'frost', 3),
            (0, 'a.png', 'fog', 4),
            (0, 1, 'fog', 3),
            (0, '1', 'fog', 3),
            (2**80, 'a.png', 'fog', 3),
        ]
    }
    assert len(streams) == 9


def test_numpy_integers_and_integers_are_the_same():
    first, second = seed_for(np.int64(1), np.int32(7), 'fog', np.int64(3)), seed_for(1, 7, 'fog', 3)
    assert first.integers(2**60) == second.integers(2**60)


@pytest.mark.parametrize(
    ('seed', 'key', 'message'),
    [
        ('0', 'a', "seed must be an integer, got '0'"),
        (0.5, 'a', 'seed'),
        (0, None, 'image_key must be'),
        (0, b'a', 'image_key'),
    ],
)
def test_wrong_types_are_named(seed, key, message):
    with pytest.raises(TypeError, match=message):
        seed_for(seed, key, 'fog', 3)


@pytest.mark.parametrize('method', ['fork', 'spawn'])
@pytest.mark.parametrize('workers', [1, 3])
def test_other_processes_and_worker_counts(method, workers):
    chosen = ('gaussian_noise', 'elastic_transform', 'fog')
    with ProcessPoolExecutor(workers, mp_context=get_context(method)) as pool:
        assert list(pool.map(digest, chosen)) == [digest(name) for name in chosen]


def test_the_hash_seed_and_the_order_do_not_count():
    code = (
        'from tests.corruptions.test_seeding import *\nprint([digest(name) for name in reversed(names("all"))][::-1])'
    )
    outputs = {
        subprocess.run(
            [sys.executable, '-c', code],
            check=True,
            capture_output=True,
            text=True,
            env=os.environ | {'PYTHONHASHSEED': hash_seed},
        ).stdout
        for hash_seed in ('1', '2')
    }
    assert outputs == {f'{[digest(name) for name in names("all")]}\n'}
