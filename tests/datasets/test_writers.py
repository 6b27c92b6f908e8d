"""Scenes on disk, as they are written; the tests of the data sets read them back with mmdet and mmseg."""

import json
import subprocess
import sys

import cv2
import numpy as np
import pytest

from fan_dense.datasets.scene_classes import INSTANCE_CLASSES, SEMANTIC_CLASSES
from fan_dense.datasets.scene_files import SceneSet
from fan_dense.datasets.scenes import draw_scene
from fan_dense.datasets.writers import write_scenes
from tests.reference import ROOT

# https://github.com/mcordts/cityscapesScripts, helpers/labels.py
CITYSCAPES = (
    *(
        'road',
        'sidewalk',
        'building',
        'wall',
        'fence',
        'pole',
        'traffic light',
        'traffic sign',
        'vegetation',
        'terrain',
    ),
    *('sky', 'person', 'rider', 'car', 'truck', 'bus', 'train', 'motorcycle', 'bicycle'),
)


def test_coco_annotations(tmp_path):
    write_scenes(tmp_path, SceneSet('val', (64, 96), 2), 4, layout='coco')
    content = json.loads((tmp_path / 'annotations' / 'instances_val2017.json').read_text())
    assert [category['name'] for category in content['categories']] == list(INSTANCE_CLASSES)
    assert len({annotation['id'] for annotation in content['annotations']}) == len(content['annotations'])
    for image in content['images']:
        scene = draw_scene(image['id'], split='val', size=(64, 96), seed=2)
        found = [a for a in content['annotations'] if a['image_id'] == image['id']]
        assert [a['area'] for a in found] == scene.masks.sum(axis=(1, 2)).tolist()
        assert [a['category_id'] - 1 for a in found] == scene.labels.tolist()
        x1, y1, x2, y2 = scene.boxes.T
        np.testing.assert_array_equal([a['bbox'] for a in found], np.stack([x1, y1, x2 - x1, y2 - y1], 1))
        pixels = cv2.imread(str(tmp_path / 'val2017' / image['file_name']))
        np.testing.assert_array_equal(pixels, scene.image)


def test_cityscapes_train_ids(tmp_path):
    write_scenes(tmp_path, SceneSet('train'), 1, layout='cityscapes')
    path = tmp_path / 'gtFine' / 'train' / 'scenes' / 'scenes_000000_gtFine_labelTrainIds.png'
    names = np.array([*CITYSCAPES, *[''] * 237])[cv2.imread(str(path), cv2.IMREAD_UNCHANGED)]
    np.testing.assert_array_equal(names, np.array([*SEMANTIC_CLASSES, *[''] * 245])[draw_scene(0).semantic])


@pytest.mark.parametrize(('layout', 'folder'), [('coco', 'val2017'), ('cityscapes', 'leftImg8bit/val/scenes')])
def test_never_overwrites_silently(tmp_path, layout, folder):
    heard = []
    write_scenes(tmp_path, SceneSet('val', (32, 32)), 3, layout=layout, progress=lambda *state: heard.append(state))
    assert heard == [(1, 3), (2, 3), (3, 3)]
    with pytest.raises(FileExistsError, match=f'{folder} is not empty: --overwrite'):
        write_scenes(tmp_path, SceneSet('val', (32, 32)), 2, layout=layout)
    write_scenes(tmp_path, SceneSet('train', (32, 32)), 2, layout=layout)  # another split is no obstacle
    write_scenes(tmp_path, SceneSet('val', (32, 32)), 2, layout=layout, overwrite=True)
    assert len(list((tmp_path / folder).iterdir())) == 2


def test_unknown_layout(tmp_path):
    with pytest.raises(ValueError, match="layout is 'voc'; it must be one of coco, cityscapes"):
        write_scenes(tmp_path, SceneSet('val'), 1, layout='voc')


def test_command(tmp_path):
    command = [
        sys.executable,
        'tools/write_scenes.py',
        tmp_path / 'new',
        '--train',
        '2',
        '--val',
        '1',
        '--size',
        '32',
        '48',
    ]
    first = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert first.stdout == f'2 + 1 scenes in {tmp_path}/new\n'
    second = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert second.returncode == 2
    assert second.stderr.splitlines() == [
        f'error: {tmp_path}/new/train2017 is not empty: --overwrite replaces the scenes in it'
    ]
