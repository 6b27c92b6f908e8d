"""Data sets of six small pictures, and configs of small FAN models on them, written to a folder by the tests."""

import json
from collections.abc import Sequence
from pathlib import Path

import cv2
import numpy as np

CLASSES = ('box', 'disc')
SIZE = (80, 112)  # height, width
BACKBONE = dict(
    type='FAN',
    arch=dict(stem='hybrid', stem_dims=(16, 24), stem_depths=(1, 1), embed_dims=32, depth=2, num_heads=2),
)

DETECTION = """
_base_ = ['mmdet::_base_/models/mask-rcnn_r50_fpn.py', 'mmdet::_base_/default_runtime.py']
custom_imports = dict(imports=['fan_dense'])
model = dict(
    data_preprocessor=dict(type='DetDataPreprocessor'),
    backbone=dict(_delete_=True, last_map='downsample', last_channels=32, **{backbone}),
    neck=dict(in_channels=[16, 24, 32, 32], out_channels=16),
    rpn_head=dict(in_channels=16, feat_channels=16),
    roi_head=dict(
        bbox_roi_extractor=dict(out_channels=16),
        bbox_head=dict(in_channels=16, fc_out_channels=32, num_classes=2),
        mask_roi_extractor=dict(out_channels=16),
        mask_head=dict(num_convs=1, in_channels=16, conv_out_channels=16, num_classes=2),
    ),
    train_cfg=dict(rpn_proposal=dict(max_per_img=50)),
    test_cfg=dict(rpn=dict(max_per_img=50), rcnn=dict(max_per_img=5)),
)
data = dict(
    type='CocoDataset',
    data_root='{root}',
    ann_file='annotations.json',
    data_prefix=dict(img='images/'),
    metainfo=dict(classes=('box', 'disc'), palette=[(220, 20, 60), (0, 120, 230)]),
)
test_pipeline = [
    dict(type='LoadImageFromFile'),
    dict(type='Resize', scale=(112, 80), keep_ratio=True),
    dict(type='LoadAnnotations', with_bbox=True, with_mask=True),
    dict(type='PackDetInputs'),
]
train_dataloader = dict(
    batch_size=2,
    num_workers=0,
    sampler=dict(type='DefaultSampler', shuffle=True),
    dataset=dict(
        **data,
        pipeline=[
            dict(type='LoadImageFromFile'),
            dict(type='LoadAnnotations', with_bbox=True, with_mask=True),
            dict(type='Resize', scale=(112, 80), keep_ratio=True),
            dict(type='PackDetInputs'),
        ],
    ),
)
test_dataloader = dict(
    batch_size=1,
    num_workers=0,
    sampler=dict(type='DefaultSampler', shuffle=False),
    dataset=dict(**data, test_mode=True, pipeline=test_pipeline),
)
val_dataloader = test_dataloader
test_evaluator = dict(type='CocoMetric', ann_file='{root}/annotations.json', metric=['bbox', 'segm'])
val_evaluator = test_evaluator
train_cfg = dict(type='EpochBasedTrainLoop', max_epochs=1)
val_cfg = dict()
test_cfg = dict()
optim_wrapper = dict(optimizer=dict(type='AdamW', lr=1e-4))
randomness = dict(seed=0)
"""

SEGMENTATION = """
_base_ = ['mmseg::_base_/models/segformer_mit-b0.py', 'mmseg::_base_/default_runtime.py']
custom_imports = dict(imports=['fan_dense'])
norm_cfg = dict(type='BN')
model = dict(
    data_preprocessor=dict(size=(64, 64)),
    backbone=dict(_delete_=True, **{backbone}),
    decode_head=dict(in_channels=[16, 24, 32, 32], channels=16, num_classes=2, norm_cfg=norm_cfg),
)
data = dict(
    type='BaseSegDataset',
    data_root='{root}',
    data_prefix=dict(img_path='images', seg_map_path='labels'),
    img_suffix='.png',
    metainfo=dict(classes=('ground', 'thing'), palette=[[90, 160, 90], [220, 20, 60]]),
)
train_dataloader = dict(
    batch_size=2,
    num_workers=0,
    sampler=dict(type='InfiniteSampler', shuffle=True),
    dataset=dict(
        **data,
        pipeline=[
            dict(type='LoadImageFromFile'),
            dict(type='LoadAnnotations'),
            dict(type='RandomCrop', crop_size=(64, 64)),
            dict(type='PackSegInputs'),
        ],
    ),
)
test_dataloader = dict(
    batch_size=1,
    num_workers=0,
    sampler=dict(type='DefaultSampler', shuffle=False),
    dataset=dict(
        **data,
        test_mode=True,
        pipeline=[dict(type='LoadImageFromFile'), dict(type='LoadAnnotations'), dict(type='PackSegInputs')],
    ),
)
val_dataloader = test_dataloader
test_evaluator = dict(type='IoUMetric', iou_metrics=['mIoU'])
val_evaluator = test_evaluator
train_cfg = dict(type='IterBasedTrainLoop', max_iters=2, val_interval=2)
val_cfg = dict()
test_cfg = dict()
optim_wrapper = dict(optimizer=dict(type='AdamW', lr=1e-4))
default_hooks = dict(checkpoint=dict(type='CheckpointHook', by_epoch=False, interval=2))
randomness = dict(seed=0)
"""


def write(root: Path, images: int = 6, sizes: Sequence[tuple[int, int]] = (SIZE,)) -> tuple[Path, Path]:
    """Write pictures, labels, COCO annotations and two configs below ``root``; give the paths of the configs.

    Detection comes first. The last image has no annotation. ``sizes`` are taken in turn, none smaller than ``SIZE``.
    """
    rng = np.random.default_rng(0)
    for folder in ('images/a', 'images/b', 'labels/a', 'labels/b'):
        (root / folder).mkdir(parents=True)
    coco = dict(images=[], annotations=[], categories=[dict(id=i, name=name) for i, name in enumerate(CLASSES)])
    for index in range(images):
        name = f'{"ab"[index % 2]}/{index // 2}.png'  # equal file names in both folders
        size = sizes[index % len(sizes)]
        image = rng.integers(60, 120, (*size, 3), dtype=np.uint8)
        labels = np.zeros(size, np.uint8)
        if index < images - 1:
            for category in range(2):
                x, y = (int(v) for v in rng.integers((4, 4), (70, 45)))
                colour = [(40, 40, 230), (230, 90, 20)][category]
                cv2.rectangle(image, (x, y), (x + 29, y + 24), colour, cv2.FILLED)
                cv2.rectangle(labels, (x, y), (x + 29, y + 24), 1, cv2.FILLED)
                polygon = [x, y, x + 30, y, x + 30, y + 25, x, y + 25]
                coco['annotations'].append(
                    dict(id=len(coco['annotations']) + 1, image_id=index, category_id=category, bbox=[x, y, 30, 25],
                         area=750, iscrowd=0, segmentation=[polygon])
                )  # fmt: skip
        cv2.imwrite(str(root / 'images' / name), image)
        cv2.imwrite(str(root / 'labels' / name), labels)
        coco['images'].append(dict(id=index, file_name=name, height=size[0], width=size[1]))
    (root / 'annotations.json').write_text(json.dumps(coco))
    configs = []
    for name, text in (('detection', DETECTION), ('segmentation', SEGMENTATION)):
        path = root / f'{name}.py'
        path.write_text(text.replace('{root}', str(root)).replace('{backbone}', repr(BACKBONE)))
        configs.append(path)
    return tuple(configs)
