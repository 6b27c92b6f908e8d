# A small FAN-Hybrid with Mask R-CNN on CamVid, from scratch: about twenty minutes on two cores.
_base_ = [
    '_base_/models/fan_mini_mask_rcnn.py',
    '_base_/datasets/camvid_instance.py',
    '_base_/schedules/from_scratch.py',
    '_base_/detection_runtime.py',
]

model = dict(roi_head=dict(bbox_head=dict(num_classes=3), mask_head=dict(num_classes=3)))
# Frames of 480x360 at 0.8 of their size: a step costs as much as it has pixels.
scale = (384, 288)
train_pipeline = [
    dict(type='LoadIntactImage'),
    dict(type='LoadAnnotations', with_bbox=True, with_mask=True),
    dict(type='Resize', scale=scale, keep_ratio=True),
    dict(type='RandomFlip', prob=0.5),
    dict(type='PackDetInputs'),
]
test_pipeline = [
    dict(type='LoadIntactImage'),
    dict(type='Resize', scale=scale, keep_ratio=True),
    dict(type='PackDetInputs', meta_keys=('img_id', 'img_path', 'ori_shape', 'img_shape', 'scale_factor')),
]
# 700 iterations x batch 4 / 367 frames = 8 epochs
train_dataloader = dict(batch_size=4, sampler=dict(type='InfiniteSampler'), dataset=dict(pipeline=train_pipeline))
val_dataloader = dict(dataset=dict(pipeline=test_pipeline))
test_dataloader = val_dataloader
iterations = 700
optim_wrapper = dict(optimizer=dict(lr=3e-3))
train_cfg = dict(max_iters=iterations, val_interval=350)
param_scheduler = [
    dict(type='LinearLR', start_factor=0.01, by_epoch=False, begin=0, end=50),
    dict(type='PolyLR', eta_min=1e-6, power=0.9, by_epoch=False, begin=50, end=iterations),
]
default_hooks = dict(logger=dict(interval=25, log_metric_by_epoch=False), checkpoint=dict(by_epoch=False, interval=175))
log_processor = dict(by_epoch=False)
