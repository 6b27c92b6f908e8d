"""Does a corruption reach what the data set gives?"""

from pathlib import Path

import cv2
import numpy as np
import pytest
import torch
from mmcv.transforms import BaseTransform, LoadImageFromFile
from mmengine.dataset import BaseDataset, ConcatDataset

import fan_dense  # noqa: F401
from fan_dense.datasets.transforms import Corrupt
from fan_dense.evaluation.pipeline import set_condition
from fan_dense.evaluation.probe import Probe, probes, reaches
from fan_dense.evaluation.result import Condition
from fan_dense.evaluation.stream import batches

FOG = Condition(corruption='fog', severity=3)


class Folder(BaseDataset):
    METAINFO = dict(classes=('a',))

    def load_data_list(self):
        return [dict(img_path=f'{self.data_root}/{index}.png') for index in range(3)]


class Blacken(BaseTransform):
    """Nothing is left of these images."""

    def __init__(self, *indices):
        self.names = [f'{index}.png' for index in indices]

    def transform(self, results):
        keep = Path(results['img_path']).name not in self.names
        return {**results, 'img': results['img'] * keep}


@pytest.fixture
def build(tmp_path):
    """``build('name', step, ...)`` -> a data set of three images with these steps at the end of its pipeline."""

    def make(name, *steps):
        (tmp_path / name).mkdir()
        for index in range(3):
            image = np.random.default_rng(index).integers(0, 256, (40, 50, 3), dtype=np.uint8)
            cv2.imwrite(str(tmp_path / name / f'{index}.png'), image)
        dataset = Folder(data_root=str(tmp_path / name), pipeline=[dict(type='LoadImageFromFile')])
        dataset.pipeline.transforms += steps
        return dataset

    return make


def found(dataset):
    """Probes of the stream, and those of the hook."""
    ((_, given),) = batches(dataset, dict(batch_size=len(dataset)), [FOG], range(len(dataset)))
    watched = next(given).probes
    records = {}
    set_condition(dataset, FOG)
    for sample in (dataset[index] for index in range(len(dataset))):
        records[sample['img_path']] = sample['corruption']
    assert watched == list(probes(dataset, records))
    return watched


def test_one_image_is_looked_at_if_it_reaches(build):
    dataset = build('good')
    assert found(dataset) == [Probe(0, f'{dataset.data_root}/0.png', True)]


def test_all_are_looked_at_while_none_reaches(build):
    dataset = build('reloaded', LoadImageFromFile())
    assert found(dataset) == [Probe(0, f'{dataset.data_root}/{index}.png', False) for index in range(3)]


def test_one_that_keeps_nothing_is_made_up_for_by_the_next(build):
    assert [one.reaches for one in found(build('some', Blacken(0)))] == [False, True]
    assert [one.reaches for one in found(build('all', Blacken(0, 1, 2)))] == [False] * 3


def test_each_part_of_a_data_set_for_itself(build):
    both = found(ConcatDataset([build('good'), build('bad', LoadImageFromFile())]))
    assert [(one.part, one.reaches) for one in both] == [(0, True), *[(1, False)] * 3]


def test_of_several_views_each_has_to_differ():
    class Views:
        """Two views, of which so many are of the image as it was corrupted."""

        def __init__(self, corrupted, step):
            self.corrupted, self.step = corrupted, step
            self.image = np.random.default_rng(0).integers(0, 256, (40, 50, 3), dtype=np.uint8)

        def __getitem__(self, index):
            made = self.step(dict(img=self.image, img_path='a.png'))['img']
            given = [made] * self.corrupted + [self.image] * (2 - self.corrupted)
            return dict(inputs=[torch.from_numpy(one[: 20 + index]) for one in given])

    step = Corrupt('fog', 3)
    for corrupted, expected in ((2, True), (1, False), (0, False)):
        dataset = Views(corrupted, step)
        assert reaches(dataset, 3, dataset[3], step) is expected
    assert step.corruptions == ['fog']  # as before
    assert step.severities == [3]
