"""The picture of a training run: what is read from mmengine's log, and that it is drawn."""

import json

import cv2
import pytest

from fan_dense import curves


def write(folder, *rows):
    (folder / 'vis_data').mkdir(parents=True)
    (folder / 'vis_data' / 'scalars.json').write_text('\n'.join(map(json.dumps, rows)))


@pytest.fixture
def work_dir(tmp_path):
    """A run of 60 steps that was resumed after 20."""
    write(
        tmp_path / '20300101_000000',
        {'loss': 3.0, 'decode.loss_ce': 3.0, 'lr': 0.1, 'decode.acc_seg': 10.0, 'step': 20},
        {'loss': 9.0, 'decode.loss_ce': 9.0, 'lr': 0.1, 'decode.acc_seg': 10.0, 'step': 40},
    )
    write(
        tmp_path / '20300101_010000',
        {'loss': 2.0, 'decode.loss_ce': 2.0, 'lr': 0.1, 'decode.acc_seg': 20.0, 'step': 40},
        {'mIoU': 0.4, 'IoU.car': 0.3, 'data_time': 0.01, 'step': 40},
    )
    return tmp_path


def test_runs_are_joined(work_dir):
    losses, scores = curves.read(work_dir)
    assert losses == {'loss': {20: 3.0, 40: 2.0}, 'decode.loss_ce': {20: 3.0, 40: 2.0}}
    assert scores == {'mIoU': {40: 0.4}}


def test_picture(work_dir):
    picture = cv2.imread(str(curves.draw(work_dir)))
    assert picture.shape[1] > 2 * picture.shape[0]
    assert picture.min() < 100  # not blank


def test_a_folder_without_a_run(tmp_path):
    with pytest.raises(FileNotFoundError, match='holds no training log'):
        curves.draw(tmp_path)
