"""CamVid: the annotations that come with the frames, from their label maps; conversion of a clone of the tutorial."""

import json
import subprocess
import sys

import cv2
import numpy as np
import pytest

from fan_dense.datasets import camvid
from fan_dense.datasets.check import DataError, MissingDataError
from tests.reference import ROOT
from tests.reference import camvid as frames


@pytest.mark.parametrize('split', ['train', 'val'])
def test_annotations_are_reproduced_exactly(split):
    root = frames()
    expected = json.loads((root / 'annotations' / f'instances_{split}.json').read_text())
    pairs = ((path.name, camvid.read_labels(path)) for path in sorted((root / 'labels' / split).glob('*.png')))
    found = camvid.annotations(((name.replace('.png', '.jpg'), labels) for name, labels in pairs), split)
    assert json.loads(json.dumps(found)) == expected


def test_instances_of_a_drawing():
    labels = np.full((60, 60), camvid.VOID, np.uint8)
    labels[5:15, 10:22] = 8  # a car of 120 pixels
    labels[15:25, 22:32] = 8  # touches it at a corner: the same instance
    labels[40:50, 0:9] = 8  # 90 pixels: too small
    labels[30:42, 40:50] = 10
    car, bicyclist = camvid.instances_of(labels)
    assert (car['category_id'], car['bbox'], car['area']) == (1, [10, 5, 22, 20], 220)
    assert (bicyclist['category_id'], bicyclist['bbox'], bicyclist['area']) == (3, [40, 30, 10, 12], 120)
    assert bicyclist['segmentation'] == [[40, 30, 40, 41, 49, 41, 49, 30]]


@pytest.fixture
def clone(tmp_path):
    rng = np.random.default_rng(0)
    for split, count in (('train', 3), ('val', 2), ('test', 1)):
        for kind in (split, f'{split}annot'):
            (tmp_path / 'clone' / 'CamVid' / kind).mkdir(parents=True)
        for index in range(count):
            labels = np.zeros((36, 48), np.uint8)
            labels[10:25, 5 : 20 + index] = 8
            image = rng.integers(0, 256, (36, 48, 3), np.uint8)
            cv2.imwrite(str(tmp_path / 'clone' / 'CamVid' / split / f'{index}.png'), image)
            cv2.imwrite(str(tmp_path / 'clone' / 'CamVid' / f'{split}annot' / f'{index}.png'), labels)
    return tmp_path / 'clone'


def test_command(clone, tmp_path):
    command = [sys.executable, 'tools/convert_camvid.py', clone, tmp_path / 'data']
    output = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert output.splitlines() == [
        'train: 3 images, 3 instances',
        'val: 2 images, 2 instances',
        'test: 1 images, 1 instances',
        f'CamVid is in {tmp_path}/data',
    ]
    for split, count in (('train', 3), ('val', 2), ('test', 1)):
        content = json.loads((tmp_path / 'data' / 'annotations' / f'instances_{split}.json').read_text())
        assert [image['file_name'] for image in content['images']] == [f'{k}.png' for k in range(count)]
        for kind, source in (('images', split), ('labels', f'{split}annot')):
            copied = (tmp_path / 'data' / kind / split / '0.png').read_bytes()
            assert copied == (clone / 'CamVid' / source / '0.png').read_bytes()
    again = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (again.returncode, again.stderr) == (
        2, f'error: {tmp_path}/data is not empty: --overwrite replaces what is in it\n',
    )  # fmt: skip
    camvid.convert(clone / 'CamVid', tmp_path / 'data', overwrite=True, report=lambda line: None)


def test_not_a_clone(tmp_path):
    with pytest.raises(MissingDataError, match=r'train does not exist; to get it: git clone https://github.com/alexg'):
        camvid.convert(tmp_path, tmp_path / 'data')


def test_broken_labels(clone, tmp_path):
    labels = clone / 'CamVid' / 'valannot' / '1.png'
    cv2.imwrite(str(labels), np.full((36, 48), 12, np.uint8))
    with pytest.raises(DataError, match=r'1.png is not a map of class indices from 0 to 11'):
        camvid.convert(clone, tmp_path / 'data', report=lambda line: None)
    labels.unlink()
    with pytest.raises(MissingDataError, match=r'label map .*1.png does not exist'):
        camvid.convert(clone, tmp_path / 'other', report=lambda line: None)
