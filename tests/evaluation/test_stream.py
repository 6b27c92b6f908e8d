import cv2
import numpy as np
import pytest
from mmengine.dataset import BaseDataset

import fan_dense  # noqa: F401
from fan_dense.corruptions import corrupt, digest, seed_for
from fan_dense.evaluation.loop import _unprefixed, alike
from fan_dense.evaluation.result import Condition
from fan_dense.evaluation.stream import batches, share

CONDITIONS = [Condition(), *(Condition(corruption=name, severity=2, seed=3) for name in ('fog', 'shot_noise', 'snow'))]


class Folder(BaseDataset):
    METAINFO = dict(classes=('a',))

    def load_data_list(self):
        return [dict(img_path=f'{self.data_prefix["img_path"]}/{index}.png') for index in range(5)]


@pytest.fixture
def dataset(tmp_path):
    for index in range(5):
        image = np.random.default_rng(index).integers(0, 256, (40, 50, 3), dtype=np.uint8)
        cv2.imwrite(str(tmp_path / f'{index}.png'), image)
    return Folder(data_root=str(tmp_path), data_prefix=dict(img_path=''), pipeline=[dict(type='LoadImageFromFile')])


def seen(dataset, conditions=CONDITIONS, images=range(5), **options):
    """condition -> digests of the images as they come."""
    loader = dict(batch_size=2, num_workers=0, dataset='not looked at', sampler=dict(type='Any')) | options.pop(
        'loader', {}
    )
    found = {}
    for condition, stream in batches(dataset, loader, conditions, images, **options):
        found[condition] = [digest(image) for batch in stream for image in batch.data['img']]
    return found


def expected(dataset, condition, index):
    image = cv2.imread(dataset.get_data_info(index)['img_path'])
    if condition.corruption is None:
        return digest(image)
    rng = seed_for(3, f'{index}.png', condition.corruption, 2)
    return digest(corrupt(image, condition.corruption, 2, rng=rng))


@pytest.mark.parametrize('workers', [0, 2])
@pytest.mark.parametrize('batch_size', [1, 3, 8])
def test_trap_pixels_depend_on_neither_workers_nor_batches_nor_what_ran_before(dataset, workers, batch_size):
    found = seen(dataset, loader=dict(num_workers=workers, batch_size=batch_size, prefetch_factor=2))
    assert found == {one: [expected(dataset, one, index) for index in range(5)] for one in CONDITIONS}


def test_only_some_images(dataset):
    found = seen(dataset, images=[1, 4])
    assert found == {one: [expected(dataset, one, index) for index in (1, 4)] for one in CONDITIONS}


def test_ranks_share_the_images_and_together_see_them_in_order(dataset):
    first, second = (seen(dataset, rank=rank, world_size=2) for rank in range(2))
    for one in CONDITIONS:
        together = [digest for pair in zip(first[one], second[one]) for digest in pair][:5]
        assert together == [expected(dataset, one, index) for index in range(5)]


@pytest.mark.parametrize(('length', 'world_size'), [(1, 4), (5, 2), (6, 3), (7, 3)])
def test_shares_are_equally_long(length, world_size):
    shares = [share(range(length), rank, world_size) for rank in range(world_size)]
    assert len({len(one) for one in shares}) == 1
    assert [image for row in zip(*shares) for image in row][:length] == list(range(length))


def test_conditions_are_taken_shortly_before_they_are_due(dataset):
    taken = []

    def one_at_a_time():
        for condition in CONDITIONS:
            taken.append(condition)
            yield condition

    loader = dict(batch_size=1, num_workers=1, prefetch_factor=2)
    stream = batches(dataset, loader, one_at_a_time(), range(5))
    next(stream)
    assert taken == CONDITIONS[:1]


def test_options_of_workers_do_no_harm_without_any(dataset):
    workers = dict(num_workers=0, prefetch_factor=2, timeout=60, multiprocessing_context='fork')
    assert seen(dataset, loader=workers) == seen(dataset)


def test_figures_of_two_metrics_do_not_replace_one_another():
    assert _unprefixed({'coco/bbox_mAP': 1, 'mIoU': 0.5}) == {'bbox_mAP': 1.0, 'mIoU': 0.5}
    with pytest.raises(ValueError, match='several metrics of test_evaluator give bbox_mAP'):
        _unprefixed({'near/bbox_mAP': 1, 'far/bbox_mAP': 0.5, 'mIoU': 0.5})


def test_times_are_measured_apart(dataset):
    for _, stream in batches(dataset, dict(batch_size=5), CONDITIONS[1:2], range(5)):
        (batch,) = stream
        assert batch.size == 5
        assert min(batch.decode, batch.corrupt, batch.transform) > 0


def test_images_of_unequal_size_are_not_padded_together():
    import torch

    shapes = [(3, 8, 8), (3, 8, 8), (3, 4, 8), (3, 8, 8)]
    data = dict(inputs=[torch.zeros(shape) for shape in shapes], data_samples=list('abcd'))
    assert [one['data_samples'] for one in alike(data)] == [['a', 'b'], ['c'], ['d']]
    views = dict(inputs=[[torch.zeros(3, 8, 8)] * 2], data_samples=[['a', 'a flipped']])
    assert list(alike(views)) == [views]
