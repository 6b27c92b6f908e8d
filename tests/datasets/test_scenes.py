"""Scenes: pure functions of their arguments, with a ground truth that is consistent in itself and worth learning."""

import hashlib
import os
import subprocess
import sys

import cv2
import numpy as np
import pytest

from fan_dense.datasets.scene_classes import IGNORE, INSTANCE_CLASSES, PALETTE, SEMANTIC_CLASSES
from fan_dense.datasets.scene_layout import KINDS
from fan_dense.datasets.scenes import Scene, draw_scene

# (index, split, size, seed) -> digest. They change only with the looks of the scenes, and then published figures do.
DIGESTS = {
    (0, 'train', (192, 256), 0): '05752841490ab472',
    (7, 'val', (192, 256), 0): '8bff98321da57c6b',
    (12, 'val', (256, 512), 3): 'd21db62260007acd',
    (3, 'other', (65, 97), 1): '462a7b4b45b3b249',
}


def digest(scene: Scene) -> str:
    state = hashlib.sha256()
    for part in (scene.image, scene.masks, scene.labels, scene.boxes, scene.semantic):
        state.update(part.tobytes())
    return state.hexdigest()[:16]


def drawn(index, split, size, seed) -> Scene:
    return draw_scene(index, split=split, size=size, seed=seed)


@pytest.fixture(scope='module')
def scenes() -> list[Scene]:
    return [draw_scene(index, split='val') for index in range(80)]


@pytest.mark.parametrize('arguments', DIGESTS)
def test_digests(arguments):
    assert digest(drawn(*arguments)) == DIGESTS[arguments]


def test_same_in_another_process_without_vector_instructions():
    """NumPy and OpenCV use other code on other processors; switching off what this one has shows whether it matters."""
    code = f'from tests.datasets.test_scenes import *\nfor a in {list(DIGESTS)}: print(digest(drawn(*a)))'
    features = ' '.join(np._core._multiarray_umath.__cpu_dispatch__)
    plain = dict(NPY_DISABLE_CPU_FEATURES=features, OPENCV_CPU_DISABLE='AVX,AVX2,FMA3,AVX512-SKX,SSE4.2')
    output = subprocess.check_output([sys.executable, '-c', code], env=os.environ | plain, text=True)
    assert output.split() == list(DIGESTS.values())


def test_pure():
    state = np.random.get_state()[1].copy()  # noqa: NPY002
    first = digest(draw_scene(5))
    others = [draw_scene(4), draw_scene(5, split='val'), draw_scene(5, seed=1), draw_scene(5, size=(192, 288))]
    assert digest(draw_scene(5)) == first
    assert len({first, *map(digest, others)}) == 5
    np.testing.assert_array_equal(np.random.get_state()[1], state)  # noqa: NPY002


def test_same_street_in_another_size():
    for index in range(6):
        small, large = draw_scene(index, size=(96, 128)), draw_scene(index, size=(192, 256))
        reduced = large.semantic[::2, ::2]
        assert (small.semantic == reduced).mean() > 0.95


def test_arrays(scenes):
    for scene in scenes:
        count = len(scene.labels)
        assert scene.image.shape == (192, 256, 3)
        assert scene.masks.shape == (count, 192, 256)
        assert scene.boxes.shape == (count, 4)
        assert scene.semantic.shape == (192, 256)
        assert [scene.image.dtype, scene.masks.dtype, scene.labels.dtype, scene.boxes.dtype, scene.semantic.dtype] == [
            np.uint8, bool, np.int64, np.float32, np.uint8
        ]  # fmt: skip


def test_masks_boxes_and_semantic_map_agree(scenes):
    for scene in scenes:
        assert scene.masks.sum(axis=0).max(initial=0) <= 1
        for mask, label, box in zip(scene.masks, scene.labels, scene.boxes):
            rows, columns = np.nonzero(mask)
            assert len(rows) >= 24
            assert box.tolist() == [columns.min(), rows.min(), columns.max() + 1, rows.max() + 1]
            assert set(scene.semantic[mask]) == {SEMANTIC_CLASSES.index(INSTANCE_CLASSES[label])}
        # pixels of an instance class without an instance are slivers too small to be asked for
        classes = [SEMANTIC_CLASSES.index(name) for name in INSTANCE_CLASSES]
        assert (np.isin(scene.semantic, classes) & ~scene.masks.any(axis=0)).sum() < 24 * 16


def test_classes():
    assert set(INSTANCE_CLASSES) == set(KINDS)
    assert set(INSTANCE_CLASSES) < set(SEMANTIC_CLASSES)
    assert len(set(PALETTE.values())) == len(SEMANTIC_CLASSES) == 11


def test_every_class_is_worth_learning(scenes):
    pixels = np.bincount(np.concatenate([scene.semantic.ravel() for scene in scenes]), minlength=256) / 80 / 192 / 256
    assert pixels[: len(SEMANTIC_CLASSES)].min() > 0.005
    assert pixels[: len(SEMANTIC_CLASSES)].max() < 0.4
    assert pixels[: len(SEMANTIC_CLASSES)].sum() + pixels[IGNORE] == pytest.approx(1)
    assert pixels[IGNORE] < 0.005
    for label in range(len(INSTANCE_CLASSES)):
        with_it = [scene for scene in scenes if label in scene.labels]
        assert len(with_it) > 0.35 * len(scenes)
        sides = np.concatenate([np.sqrt(s.masks[s.labels == label].sum(axis=(1, 2))) for s in with_it])
        assert 12 < np.median(sides) < 80
        assert np.percentile(sides, 90) > 1.5 * np.percentile(sides, 10)  # near and far ones


def test_objects_hide_each_other(scenes):
    """Occlusion: in a good part of the scenes boxes overlap, though masks never do."""
    overlapping = 0
    for scene in scenes:
        x1, y1, x2, y2 = scene.boxes.T
        meet = (x1[:, None] < x2) & (x1 < x2[:, None]) & (y1[:, None] < y2) & (y1 < y2[:, None])
        overlapping += meet.sum() > len(scene.boxes)
    assert overlapping > 0.5 * len(scenes)


def test_light_and_texture_vary(scenes):
    brightness = np.array([scene.image.mean() for scene in scenes])
    assert brightness.min() < 50 < 120 < brightness.max()
    # noise and texture: no class is one colour, and trees are the roughest
    roughness = {}
    for name in ('road', 'sky', 'vegetation', 'building'):
        steps = []
        for scene in scenes[:20]:
            inside = scene.semantic == SEMANTIC_CLASSES.index(name)
            steps.append(np.diff(scene.image.astype(int), axis=1)[inside[:, 1:] & inside[:, :-1]])
        roughness[name] = np.concatenate(steps).std()
    assert min(roughness.values()) > 2
    assert roughness['vegetation'] > 1.5 * roughness['sky']


def test_small_and_narrow_sizes():
    for size in ((32, 32), (40, 300), (33, 47)):
        scene = draw_scene(1, size=size)
        assert scene.image.shape == (*size, 3)
        assert cv2.cvtColor(scene.image, cv2.COLOR_BGR2GRAY).std() > 5


@pytest.mark.parametrize('wrong', [dict(index=-1), dict(size=(31, 256)), dict(seed=-1)])
def test_wrong_arguments(wrong):
    with pytest.raises(ValueError, match=f'{next(iter(wrong))} .*expected'):
        draw_scene(**{'index': 0, **wrong})
