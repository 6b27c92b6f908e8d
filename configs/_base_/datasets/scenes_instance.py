"""Street scenes drawn in memory, for detectors: 5 classes, 192x256 pixels."""

train_pipeline = [
    dict(type='LoadIntactImage'),
    dict(type='LoadAnnotations', with_bbox=True, with_mask=True),
    dict(type='Resize', scale=(256, 192), keep_ratio=True),
    dict(type='RandomFlip', prob=0.5),
    dict(type='PackDetInputs'),
]
test_pipeline = [
    dict(type='LoadIntactImage'),
    dict(type='Resize', scale=(256, 192), keep_ratio=True),
    dict(
        type='PackDetInputs',
        # CocoMetric takes the ground truth from `instances`, as there is no annotation file
        meta_keys=('img_id', 'img_path', 'ori_shape', 'img_shape', 'scale_factor', 'instances'),
    ),
]
train_dataloader = dict(
    batch_size=8,
    num_workers=1,
    persistent_workers=True,
    sampler=dict(type='DefaultSampler', shuffle=True),
    dataset=dict(type='StreetScenes', length=1600, split='train', pipeline=train_pipeline),
)
val_dataloader = dict(
    batch_size=8,
    num_workers=1,
    persistent_workers=True,
    sampler=dict(type='DefaultSampler', shuffle=False),
    dataset=dict(type='StreetScenes', length=100, split='val', test_mode=True, pipeline=test_pipeline),
)
test_dataloader = val_dataloader
val_evaluator = dict(type='CocoMetric', metric=['bbox', 'segm'])
test_evaluator = val_evaluator
