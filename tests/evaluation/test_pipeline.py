import cv2
import numpy as np
import pytest
from mmengine.dataset import BaseDataset, ConcatDataset, RepeatDataset

import fan_dense  # noqa: F401
from fan_dense.datasets.transforms import Corrupt
from fan_dense.evaluation.pipeline import corrupted_image, set_condition
from fan_dense.evaluation.result import Condition

FOG = Condition(corruption='fog', severity=3, seed=4)


class Folder(BaseDataset):
    METAINFO = dict(classes=('a',))

    def load_data_list(self):
        return [dict(img_path=f'{self.data_prefix["img_path"]}/x/{index}.png') for index in range(2)]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / 'x').mkdir()
    for index in range(2):
        image = np.random.default_rng(index).integers(0, 256, (40, 50, 3), dtype=np.uint8)
        cv2.imwrite(str(tmp_path / 'x' / f'{index}.png'), image)
    return tmp_path


def build(folder, *steps, **kwargs):
    steps = steps or (dict(type='LoadImageFromFile'), dict(type='Resize', scale=(20, 20)))
    return Folder(data_root=str(folder), data_prefix=dict(img_path=''), pipeline=list(steps), **kwargs)


def names(dataset):
    return [type(step).__name__ for step in dataset.pipeline.transforms]


def test_it_follows_the_loading_step_and_knows_the_image_folder(folder):
    dataset = build(folder)
    set_condition(dataset, FOG)
    assert names(dataset) == ['LoadImageFromFile', 'Corrupt', 'Resize']
    results = dataset[0]
    assert results['img'].shape == (20, 20, 3)
    assert results['corruption']['key'] == 'x/0.png'
    image, info = corrupted_image(dataset, 0, FOG)
    assert image.shape == (40, 50, 3)
    assert 'img' not in info
    alone = Corrupt('fog', 3, seed=4, prefix=str(folder))
    expected = alone(dict(img=cv2.imread(info['img_path']), img_path=info['img_path']))['img']
    np.testing.assert_array_equal(image, expected)


def test_it_replaces_what_the_config_says(folder):
    stated = dict(type='Corrupt', corruption='snow', severity=1)
    dataset = build(folder, dict(type='LoadImageFromFile'), stated)
    for condition in (FOG, Condition(), FOG):
        set_condition(dataset, condition)
        assert names(dataset) == ['LoadImageFromFile', 'Corrupt']
        assert dataset[0]['corruption']['corruption'] == condition.corruption


def test_it_reaches_into_wrappers(folder):
    inner = [build(folder) for _ in range(3)]
    for dataset in (ConcatDataset(inner[:2]), RepeatDataset(inner[2], times=2)):
        set_condition(dataset, FOG)
    assert [names(one)[1] for one in inner] == ['Corrupt'] * 3


def test_the_packing_step_keeps_the_record_even_when_nested(folder):
    import mmseg.datasets.transforms  # noqa: F401  (registers the packing step)

    pack = dict(type='mmseg.PackSegInputs', meta_keys=('img_shape',))
    flips = [dict(type='mmcv.RandomFlip', prob=0.0), dict(type='mmcv.RandomFlip', prob=1.0)]
    load = dict(type='LoadImageFromFile')
    plain = build(folder, load, pack)
    nested = build(folder, load, dict(type='TestTimeAug', transforms=[flips, [pack]]))
    for dataset in (plain, nested):
        set_condition(dataset, FOG)
    samples = [plain[0]['data_samples'], *nested[0]['data_samples']]
    assert len(samples) == 3
    for sample in samples:
        assert sample.metainfo['corruption']['corruption'] == 'fog'


def test_an_image_that_is_loaded_inside_a_nested_pipeline_is_refused(folder):
    inner = [[dict(type='LoadImageFromFile')], [dict(type='Resize', scale=(20, 20))]]
    dataset = build(folder, dict(type='TestTimeAug', transforms=inner))
    with pytest.raises(ValueError, match=r'loads its image in none of its own steps \(TestTimeAug\): move'):
        set_condition(dataset, FOG)
