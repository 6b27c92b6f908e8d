# ADE20K in crops of 512x512. Set ADE20K_ROOT to use a folder other than data/ade/ADEChallengeData2016.
_base_ = './corruption.py'

data_root = '{{$ADE20K_ROOT:data/ade/ADEChallengeData2016}}'

crop_size = (512, 512)
train_pipeline = [
    dict(type='LoadImageFromFile'),
    dict(type='LoadAnnotations', reduce_zero_label=True),
    dict(type='RandomResize', scale=(2048, 512), ratio_range=(0.5, 2.0), keep_ratio=True),
    dict(type='RandomCrop', crop_size=crop_size, cat_max_ratio=0.75),
    dict(type='RandomFlip', prob=0.5),
    dict(type='PhotoMetricDistortion'),
    dict(type='PackSegInputs'),
]
test_pipeline = [
    dict(type='LoadImageFromFile'),
    dict(type='Resize', scale=(2048, 512), keep_ratio=True),
    dict(type='LoadAnnotations', reduce_zero_label=True),  # after the resize: the ground truth keeps its size
    dict(
        type='PackSegInputs',
        # mmseg's own, and what PixelGuard looks at
        meta_keys=(
            'img_path',
            'seg_map_path',
            'ori_shape',
            'img_shape',
            'pad_shape',
            'scale_factor',
            'flip',
            'flip_direction',
            'reduce_zero_label',
            'corruption',
        ),
    ),
]
corrupted_pipeline = [
    test_pipeline[0],
    dict(_base_.corrupt, prefix=f'{data_root}/images/validation'),
    *test_pipeline[1:],
]
train_dataloader = dict(
    batch_size=2,
    num_workers=4,
    persistent_workers=True,
    sampler=dict(type='InfiniteSampler', shuffle=True),
    dataset=dict(
        type='ADE20KDataset',
        data_root=data_root,
        data_prefix=dict(img_path='images/training', seg_map_path='annotations/training'),
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
        type='ADE20KDataset',
        data_root=data_root,
        data_prefix=dict(img_path='images/validation', seg_map_path='annotations/validation'),
        test_mode=True,
        pipeline=test_pipeline,
    ),
)
test_dataloader = val_dataloader
val_evaluator = dict(type='IoUMetric', iou_metrics=['mIoU'])
test_evaluator = val_evaluator
