# COCO 2017, short side 800. Set COCO_ROOT to use a folder other than data/coco.
_base_ = './corruption.py'

data_root = '{{$COCO_ROOT:data/coco}}'

train_pipeline = [
    dict(type='LoadImageFromFile'),
    dict(type='LoadAnnotations', with_bbox=True, with_mask=True),
    dict(type='Resize', scale=(1333, 800), keep_ratio=True),
    dict(type='RandomFlip', prob=0.5),
    dict(type='PackDetInputs'),
]
test_pipeline = [
    dict(type='LoadImageFromFile'),
    dict(type='Resize', scale=(1333, 800), keep_ratio=True),
    dict(type='LoadAnnotations', with_bbox=True, with_mask=True),
    dict(
        type='PackDetInputs',
        # mmdet's own, and what PixelGuard looks at
        meta_keys=('img_id', 'img_path', 'ori_shape', 'img_shape', 'scale_factor', 'corruption'),
    ),
]
corrupted_pipeline = [test_pipeline[0], dict(_base_.corrupt, prefix=f'{data_root}/val2017'), *test_pipeline[1:]]
train_dataloader = dict(
    batch_size=2,
    num_workers=4,
    persistent_workers=True,
    sampler=dict(type='DefaultSampler', shuffle=True),
    batch_sampler=dict(type='AspectRatioBatchSampler'),
    dataset=dict(
        type='CocoDataset',
        data_root=data_root,
        ann_file='annotations/instances_train2017.json',
        data_prefix=dict(img='train2017/'),
        filter_cfg=dict(filter_empty_gt=True, min_size=32),  # 117,266 of the 118,287 images have annotations
        pipeline=train_pipeline,
    ),
)
# FAN looks at the whole padded grid (position encoding, channel attention), so that padding to the largest image of a
# batch would change results: one image at a time.
val_dataloader = dict(
    batch_size=1,
    num_workers=4,
    persistent_workers=True,
    sampler=dict(type='DefaultSampler', shuffle=False),
    dataset=dict(
        type='CocoDataset',
        data_root=data_root,
        ann_file='annotations/instances_val2017.json',
        data_prefix=dict(img='val2017/'),
        test_mode=True,
        pipeline=test_pipeline,
    ),
)
test_dataloader = val_dataloader
val_evaluator = dict(
    type='CocoMetric', ann_file=f'{data_root}/annotations/instances_val2017.json', metric=['bbox', 'segm']
)
test_evaluator = val_evaluator
