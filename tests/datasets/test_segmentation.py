"""Street scenes and CamVid in mmseg: stock pipelines and metric, ignored pixels, Cityscapes' layout."""

import copy

import cv2
import numpy as np
import pytest
import torch
from mmengine.config import Config
from mmengine.registry import init_default_scope

import fan_dense  # noqa: F401
from fan_dense.datasets.scene_classes import IGNORE, SEMANTIC_CLASSES
from fan_dense.datasets.scene_files import SceneSet
from fan_dense.datasets.scenes import draw_scene
from fan_dense.datasets.writers import write_scenes
from tests.reference import ROOT, camvid

from mmseg.evaluation import IoUMetric  # isort: skip
from mmseg.registry import DATASETS  # isort: skip

PLAIN = [dict(type='LoadImageFromFile'), dict(type='LoadAnnotations'), dict(type='PackSegInputs')]


@pytest.fixture(autouse=True)
def _scope():
    init_default_scope('mmseg')


def build(**options):
    return DATASETS.build(dict(pipeline=PLAIN, **options))


def labels_of(item) -> np.ndarray:
    return item['data_samples'].gt_sem_seg.data[0].numpy()


def test_stock_pipeline():
    data = build(type='StreetScenesSemantic', length=3, split='val')
    for index, item in enumerate(data):
        scene = draw_scene(index, split='val')
        np.testing.assert_array_equal(item['inputs'].permute(1, 2, 0).numpy(), scene.image)
        np.testing.assert_array_equal(labels_of(item), scene.semantic)
        assert item['data_samples'].img_path == f'scenes://seed0/192x256/val/00000{index}.png'


def test_augmenting_pipeline():
    steps = [
        *PLAIN[:2],
        dict(type='RandomResize', scale=(256, 192), ratio_range=(1.0, 2.0), keep_ratio=True),
        dict(type='RandomCrop', crop_size=(128, 128), cat_max_ratio=0.75),
        dict(type='RandomFlip', prob=0.5),
        dict(type='PhotoMetricDistortion'),
        PLAIN[2],
    ]
    item = DATASETS.build(dict(type='StreetScenesSemantic', length=1, pipeline=steps))[0]
    assert item['inputs'].shape == (3, 128, 128)
    assert set(np.unique(labels_of(item))) <= {*range(11), IGNORE}


def test_perfect_prediction_scores_one_and_a_wrong_class_zero():
    data = build(type='StreetScenesSemantic', length=8)
    metric = IoUMetric(iou_metrics=['mIoU'])
    metric.dataset_meta = data.metainfo
    sky = SEMANTIC_CLASSES.index('sky')
    union = intersection = 0
    for item in data:
        truth = item['data_samples'].gt_sem_seg.data
        predicted = torch.where((truth == sky) | (truth == IGNORE), 0, truth)
        intersection += int((truth == 0).sum())
        union += int(((predicted == 0) & (truth != IGNORE)).sum())
        metric.process({}, [dict(pred_sem_seg=dict(data=predicted), gt_sem_seg=dict(data=truth))])
    # ignored pixels do not count; road loses what was sky; the other nine are perfect
    assert metric.evaluate(8)['mIoU'] == pytest.approx(100 * (9 + intersection / union) / 11, abs=0.01)


def test_fewer_classes():
    data = build(type='StreetScenesSemantic', length=1, metainfo=dict(classes=('sky', 'road')))
    semantic = draw_scene(0).semantic
    expected = np.where(semantic == SEMANTIC_CLASSES.index('sky'), 0, np.where(semantic == 0, 1, IGNORE))
    np.testing.assert_array_equal(labels_of(data[0]), expected)


@pytest.mark.parametrize('classes', [SEMANTIC_CLASSES, None])
def test_written_as_cityscapes_and_read_by_mmseg(tmp_path, classes):
    write_scenes(tmp_path, SceneSet('val'), 3, layout='cityscapes')
    data = build(
        type='CityscapesDataset',
        data_root=str(tmp_path),
        data_prefix=dict(img_path='leftImg8bit/val', seg_map_path='gtFine/val'),
        metainfo=classes and dict(classes=classes),
    )
    assert len(data) == 3
    for index, item in enumerate(data):
        scene = draw_scene(index, split='val')
        np.testing.assert_array_equal(item['inputs'].permute(1, 2, 0).numpy(), scene.image)
        names = np.array([*data.metainfo['classes'], *[''] * (256 - len(data.metainfo['classes']))])
        np.testing.assert_array_equal(
            names[labels_of(item)], np.array([*SEMANTIC_CLASSES, *[''] * 245])[scene.semantic]
        )


def test_camvid_ignores_void():
    root = camvid()
    data = build(
        type='CamVidDataset',
        data_root=str(root),
        data_prefix=dict(img_path='images/val', seg_map_path='labels/val'),
    )
    assert len(data) == 101
    item = data[0]
    raw = cv2.imread(str(root / 'labels' / 'val' / '0016E5_07959.png'), cv2.IMREAD_UNCHANGED)
    np.testing.assert_array_equal(labels_of(item), np.where(raw == 11, 255, raw))
    assert item['inputs'].shape == (3, 360, 480)
    assert len(data.metainfo['classes']) == len(data.metainfo['palette']) == 11


@pytest.mark.parametrize('suffix', ['.png', '.jpg'])
def test_camvid_takes_either_suffix_and_fewer_classes(tmp_path, suffix):
    labels = np.array([[0, 3, 8, 11]] * 4, np.uint8)
    for kind in ('images', 'labels'):
        (tmp_path / kind).mkdir()
    cv2.imwrite(str(tmp_path / 'images' / f'a{suffix}'), np.zeros((4, 4, 3), np.uint8))
    cv2.imwrite(str(tmp_path / 'labels' / 'a.png'), labels)
    data = build(
        type='CamVidDataset',
        data_root=str(tmp_path),
        data_prefix=dict(img_path='images', seg_map_path='labels'),
        metainfo=dict(classes=('car', 'sky')),
    )
    assert len(data) == 1
    np.testing.assert_array_equal(labels_of(data[0]), [[1, 255, 0, 255]] * 4)
    assert data.metainfo['palette'] == [[64, 0, 128], [128, 128, 128]]


@pytest.mark.parametrize('name', ['scenes_semantic', 'camvid_semantic'])
def test_base_configs(name):
    cfg = Config.fromfile(ROOT / 'configs' / '_base_' / 'datasets' / f'{name}.py')
    for loader in (cfg.train_dataloader, cfg.val_dataloader):
        options = copy.deepcopy(loader.dataset)
        if name == 'camvid_semantic':
            options.data_root = str(camvid())
        data = DATASETS.build(options)
        assert len(data) == {'scenes_semantic': (1600, 100), 'camvid_semantic': (367, 101)}[name][data.test_mode]
        assert len(data.metainfo['classes']) == 11
        item = data[0]
        assert item['inputs'].shape[1:] == labels_of(item).shape
        assert item['data_samples'].ori_shape == ((192, 256) if name[0] == 's' else (360, 480))
