"""Street scenes in mmdet: stock pipelines and metric, workers, and what is written in COCO's layout."""

import copy
import pickle

import mmcv
import mmengine.fileio as fileio
import numpy as np
import pytest
import torch
from mmengine.config import Config
from mmengine.registry import init_default_scope
from mmengine.structures import InstanceData
from torch.utils.data import DataLoader

import fan_dense  # noqa: F401
from fan_dense.datasets.scene_classes import INSTANCE_CLASSES
from fan_dense.datasets.scene_files import SceneSet
from fan_dense.datasets.scenes import draw_scene
from fan_dense.datasets.writers import write_scenes
from tests.reference import ROOT, camvid

from mmdet.evaluation import CocoMetric  # isort: skip
from mmdet.registry import DATASETS  # isort: skip

TRAIN = [
    dict(type='LoadImageFromFile'),
    dict(type='LoadAnnotations', with_bbox=True, with_mask=True),
    dict(type='Resize', scale=(384, 288), keep_ratio=True),
    dict(type='RandomFlip', prob=1.0),
    dict(type='PackDetInputs', meta_keys=('img_id', 'img_path', 'ori_shape', 'img_shape', 'instances')),
]
PLAIN = [TRAIN[0], TRAIN[1], TRAIN[4]]


@pytest.fixture(autouse=True)
def _scope():
    init_default_scope('mmdet')


def build(**options):
    return DATASETS.build(dict(type='StreetScenes', **options))


def test_stock_pipeline():
    item = build(length=3, split='val', pipeline=TRAIN)[2]
    scene, sample = draw_scene(2, split='val'), item['data_samples']
    assert sample.img_path == 'scenes://seed0/192x256/val/000002.png'
    assert (sample.img_id, sample.ori_shape, sample.img_shape) == (2, (192, 256), (288, 384))
    enlarged = mmcv.imresize(scene.image, (384, 288))[:, ::-1]
    np.testing.assert_array_equal(item['inputs'].permute(1, 2, 0).numpy(), enlarged)
    x1, y1, x2, y2 = scene.boxes.T * 1.5
    np.testing.assert_allclose(sample.gt_instances.bboxes.tensor.numpy(), np.stack([384 - x2, y1, 384 - x1, y2], 1))
    np.testing.assert_array_equal(sample.gt_instances.labels.numpy(), scene.labels)
    assert sample.gt_instances.masks.masks.shape == (len(scene.labels), 288, 384)


def test_masks_and_image_are_lossless():
    item = build(length=1, size=(96, 160), seed=4, pipeline=PLAIN)[0]
    scene = draw_scene(0, size=(96, 160), seed=4)
    np.testing.assert_array_equal(item['inputs'].permute(1, 2, 0).numpy(), scene.image)
    np.testing.assert_array_equal(item['data_samples'].gt_instances.masks.masks.astype(bool), scene.masks)


def test_scene_files():
    scenes = SceneSet('val')
    labels = mmcv.imfrombytes(fileio.get(scenes.label_path(1)), flag='unchanged')
    np.testing.assert_array_equal(labels, draw_scene(1, split='val').semantic)
    with pytest.raises(FileNotFoundError, match='no scene scenes://val/1.png: names look like scenes://seed0'):
        fileio.get('scenes://val/1.png')


@pytest.mark.parametrize('method', ['fork', 'spawn'])
def test_workers(method):
    data = build(length=3, pipeline=PLAIN)
    loader = DataLoader(data, batch_size=None, num_workers=1, multiprocessing_context=method)
    for here, there in zip(data, loader, strict=True):
        assert torch.equal(here['inputs'], there['inputs'])
        assert here['data_samples'].img_id == there['data_samples'].img_id
    assert len(pickle.dumps(data)) < 20_000  # no picture travels


def test_fewer_classes():
    data = build(length=20, metainfo=dict(classes=('truck', 'person')), pipeline=PLAIN)
    labels = np.concatenate([item['data_samples'].gt_instances.labels.numpy() for item in data])
    drawn = np.concatenate([draw_scene(index).labels for index in range(20)])
    assert (labels == 0).sum() == (drawn == INSTANCE_CLASSES.index('truck')).sum() > 0
    assert (labels == 1).sum() == (drawn == INSTANCE_CLASSES.index('person')).sum() > 0
    with pytest.raises(ValueError, match="no class \\['bus'\\], only person, bicycle"):
        build(length=1, metainfo=dict(classes=('bus',)))


def test_wrong_options():
    with pytest.raises(ValueError, match='length is 0'):
        build(length=0)
    with pytest.raises(ValueError, match='size is \\(8, 8\\)'):
        build(length=1, size=(8, 8))
    with pytest.raises(TypeError, match='ann_file'):
        build(length=1, ann_file='x.json')


def evaluate(data, ann_file=None) -> dict:
    """AP of perfect predictions, but for one box in each image that has a second class."""
    metric = CocoMetric(ann_file=ann_file, metric=['bbox', 'segm'])
    metric.dataset_meta = data.metainfo
    for item in data:
        sample = item['data_samples']
        truth = sample.gt_instances
        sample.pred_instances = InstanceData(
            bboxes=truth.bboxes.tensor,
            labels=truth.labels,
            scores=torch.ones(len(truth.labels)),
            masks=torch.from_numpy(truth.masks.masks.astype(bool)),
        )
        metric.process({}, [sample.to_dict()])
    return metric.evaluate(len(data))


def test_written_as_coco_and_read_by_mmdet(tmp_path):
    for split, length in (('train', 2), ('val', 12)):
        write_scenes(tmp_path, SceneSet(split), length, layout='coco')
    drawn = build(length=12, split='val', pipeline=PLAIN)
    read = DATASETS.build(
        dict(
            type='CocoDataset',
            data_root=str(tmp_path),
            ann_file='annotations/instances_val2017.json',
            data_prefix=dict(img='val2017/'),
            metainfo=dict(classes=INSTANCE_CLASSES),
            pipeline=PLAIN,
        )
    )
    assert len(read) == 12
    for one, other in zip(drawn, read):
        assert torch.equal(one['inputs'], other['inputs'])
        truth, same = one['data_samples'].gt_instances, other['data_samples'].gt_instances
        assert torch.equal(truth.bboxes.tensor, same.bboxes.tensor)
        assert torch.equal(truth.labels, same.labels)
        np.testing.assert_array_equal(truth.masks.masks, same.masks.masks)
    for data, ann_file in ((drawn, None), (read, str(tmp_path / 'annotations' / 'instances_val2017.json'))):
        scores = evaluate(data, ann_file)
        assert scores['coco/bbox_mAP'] == scores['coco/segm_mAP'] == 1.0


@pytest.mark.parametrize('name', ['scenes_instance', 'camvid_instance'])
def test_base_configs(name, monkeypatch):
    cfg = Config.fromfile(ROOT / 'configs' / '_base_' / 'datasets' / f'{name}.py')
    if name == 'camvid_instance':
        camvid()
    for loader in (cfg.train_dataloader, cfg.val_dataloader):
        options = copy.deepcopy(loader.dataset)
        if name == 'camvid_instance':
            options.data_root = str(camvid())
        data = DATASETS.build(options)
        assert len(data) == {'scenes_instance': (1600, 100), 'camvid_instance': (367, 101)}[name][data.test_mode]
        sample = data[0]['data_samples']
        assert len(data.metainfo['classes']) == len(data.metainfo['palette']) == {'s': 5, 'c': 3}[name[0]]
        assert sample.img_shape == sample.ori_shape == ((192, 256) if name[0] == 's' else (360, 480))
        assert 'scale_factor' in sample
        assert data.test_mode or len(sample.gt_instances) > 0
