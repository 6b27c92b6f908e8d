"""What holds for every corruption: shapes, types, errors, determinism, replay; and what they cost a process."""

import os
import subprocess
import sys

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from fan_dense.corruptions import apply, corrupt, draw, names, seed_for

EVERY = pytest.mark.parametrize('name', names('all'))


def picture(height: int, width: int, seed: int = 0) -> np.ndarray:
    """Smooth parts, noise, black and white."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[:height, :width]
    image = np.stack([255 * y / height, 255 * x / width, 128 + 60 * np.sin(x / 5)], axis=-1)
    image[: height // 4] += rng.normal(0, 30, (height // 4, width, 3))
    image[height // 2 :, : width // 4], image[height // 2 :, -width // 4 :] = 0, 255
    return np.clip(image, 0, 255).astype(np.uint8)


@EVERY
@settings(max_examples=12, deadline=None, derandomize=True)
@given(
    height=st.integers(32, 90),
    width=st.integers(32, 90),
    severity=st.integers(1, 5),
    grey=st.booleans(),
    layout=st.sampled_from(['C', 'F', 'strided', 'reversed', 'read-only']),
    legacy=st.booleans(),
)
def test_shape_type_no_mutation_determinism_replay(name, height, width, severity, grey, layout, legacy):
    image = picture(height, width)
    image = image[:, :, 0] if grey else image
    plain = np.ascontiguousarray(image)
    if layout == 'F':
        image = np.asfortranarray(image)
    elif layout == 'strided':
        image = np.repeat(np.repeat(image, 2, axis=0), 3, axis=1)[::2, ::3]
    elif layout == 'reversed':
        image = plain[::-1].copy()[::-1]
    elif layout == 'read-only':
        image = plain.copy()
        image.flags.writeable = False
    before = image.copy()

    def rng():
        return np.random.RandomState(7) if legacy else seed_for(7, 'picture', name, severity)

    out = corrupt(image, name, severity, rng=rng())
    assert out.dtype == np.uint8
    assert out.shape == image.shape
    assert not np.shares_memory(out, image)
    np.testing.assert_array_equal(image, before)
    np.testing.assert_array_equal(corrupt(plain, name, severity, rng=rng()), out)
    params = draw(image, name, severity, rng=rng())
    np.testing.assert_array_equal(apply(image, name, severity, params), out)
    np.testing.assert_array_equal(apply(image, name, severity, params), out)


@EVERY
def test_the_image_is_changed_and_more_so_at_a_higher_severity(name):
    image = picture(120, 160)
    change = [
        np.mean(
            [
                np.abs(corrupt(image, name, s, rng=seed_for(0, k, name, s)) - image.astype(float)).mean()
                for k in range(6)
            ]
        )
        for s in (1, 5)
    ]
    assert change[0] > 0.3
    if name not in ('frost', 'saturate'):  # frost's texture varies more; saturate turns from less to more colour
        assert change[1] > change[0]


@EVERY
def test_a_grey_image_is_three_equal_channels(name):
    grey = picture(40, 50)[:, :, 2]
    out = corrupt(grey, name, 3, rng=np.random.RandomState(5)).astype(int)
    stacked = corrupt(np.stack([grey] * 3, axis=-1), name, 3, rng=np.random.RandomState(5))
    if name in ('snow', 'brightness', 'frost', 'spatter', 'saturate'):
        luma = stacked @ [0.299, 0.587, 0.114]
        assert np.abs(out - luma).max() <= 0.5 + 1e-9
    elif name == 'jpeg_compression':  # a grey file, not a coloured one
        assert np.abs(out - stacked[:, :, 0]).mean() < 1
    else:
        np.testing.assert_array_equal(out, stacked[:, :, 0])


@EVERY
def test_other_seeds_give_other_pixels_where_there_is_a_draw(name):
    image = picture(64, 80)
    random = bool(draw(image, name, 3, rng=np.random.default_rng(0)))
    first, second = (corrupt(image, name, 3, rng=seed_for(seed, 'a', name, 3)) for seed in (0, 1))
    assert np.array_equal(first, second) != random


RNG = np.random.default_rng(0)
IMAGE = picture(40, 40)


@pytest.mark.parametrize(
    ('image', 'severity', 'error', 'message'),
    [
        (IMAGE / 255, 3, ValueError, r'image must be uint8 .* got float64 of shape \(40, 40, 3\)'),
        (np.full((40, 40), np.nan), 3, ValueError, 'image must be uint8 .* got float64'),
        (np.zeros((40, 40, 4), np.uint8), 3, ValueError, r'got uint8 of shape \(40, 40, 4\)'),
        (np.zeros((40, 40, 1), np.uint8), 3, ValueError, r'\(H, W, 3\) or \(H, W\).* got uint8 of shape \(40, 40, 1\)'),
        (np.zeros((1, 40, 40, 3), np.uint8), 3, ValueError, r'got uint8 of shape \(1, 40, 40, 3\)'),
        (np.zeros((16, 16, 3), np.uint8), 3, ValueError, r'at least 32 x 32, got uint8 of shape \(16, 16, 3\)'),
        (np.zeros((31, 64, 3), np.uint8), 3, ValueError, 'at least 32 x 32'),
        ([[0] * 40] * 40, 3, TypeError, 'image must be a uint8 numpy array .* got list'),
        (None, 3, TypeError, 'got NoneType'),
        (IMAGE, 0, ValueError, 'severity must be an integer from 1 to 5, got 0'),
        (IMAGE, 6, ValueError, 'severity .* got 6'),
        (IMAGE, '3', TypeError, "severity must be an integer from 1 to 5, got '3'"),
        (IMAGE, 3.0, TypeError, 'severity .* got 3.0'),
        (IMAGE, float('nan'), TypeError, 'severity .* got nan'),
        (IMAGE, True, TypeError, 'severity .* got True'),
    ],
)
def test_wrong_input_is_named(image, severity, error, message):
    with pytest.raises(error, match=message):
        corrupt(image, 'fog', severity, rng=RNG)


@pytest.mark.parametrize('rng', [None, 3, np.random, 'seed'])
def test_rng_must_be_a_generator(rng):
    with pytest.raises(TypeError, match='rng must be a numpy Generator or RandomState, got .*seed_for'):
        corrupt(IMAGE, 'contrast', 3, rng=rng)


def test_numpy_integers_are_severities():
    np.testing.assert_array_equal(
        corrupt(IMAGE, 'contrast', np.int64(2), rng=RNG), corrupt(IMAGE, 'contrast', 2, rng=RNG)
    )


def test_no_thread_is_started_and_no_setting_of_opencv_changed():
    code = """
import os, cv2, numpy as np
from fan_dense.corruptions import corrupt, names, seed_for
def threads():
    return len(os.listdir('/proc/self/task'))
image = np.random.default_rng(0).integers(0, 256, (300, 400, 3), dtype=np.uint8)
before = threads(), cv2.getNumThreads()
for name in names('all'):
    for severity in (3, 5):
        corrupt(image, name, severity, rng=seed_for(0, 0, name, severity))
assert (threads(), cv2.getNumThreads()) == before, ((threads(), cv2.getNumThreads()), before)
"""
    # numba loads scipy's linear algebra, which would start the threads that it is allowed
    environment = os.environ | {'OPENBLAS_NUM_THREADS': '1'}
    subprocess.run([sys.executable, '-c', code], check=True, env=environment)


def test_the_import_is_light():
    code = """
import sys, time, numpy
start = time.process_time()
import fan_dense.corruptions
spent = time.process_time() - start
heavy = {'torch', 'numba', 'cv2', 'mmengine', 'mmcv', 'mmdet', 'mmseg', 'scipy', 'skimage'} & set(sys.modules)
assert not heavy, heavy
assert spent < 0.3, spent
import fan_dense.corruptions.noise, fan_dense.corruptions.weather, fan_dense.corruptions.digital
heavy = {'torch', 'mmengine', 'mmcv', 'mmdet', 'mmseg', 'skimage'} & set(sys.modules)
assert not heavy, heavy
"""
    subprocess.run([sys.executable, '-c', code], check=True)
