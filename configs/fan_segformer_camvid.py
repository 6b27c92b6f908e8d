# A small FAN-Hybrid with SegFormer's head on CamVid, from scratch: about half an hour on two cores.
_base_ = [
    '_base_/models/fan_mini_segformer.py',
    '_base_/datasets/camvid_semantic.py',
    '_base_/schedules/from_scratch.py',
    '_base_/segmentation_runtime.py',
]

# Crops of a quarter of a frame, at about half to full size: a step costs as much as it has pixels, and 367 frames
# teach more in varied crops.
crop_size = (192, 256)
model = dict(data_preprocessor=dict(size=crop_size), decode_head=dict(num_classes=11))
train_pipeline = [
    dict(type='LoadIntactImage'),
    dict(type='LoadAnnotations'),
    dict(type='RandomResize', scale=(480, 360), ratio_range=(0.55, 1.2), keep_ratio=True),
    dict(type='RandomCrop', crop_size=crop_size, cat_max_ratio=0.75),
    dict(type='RandomFlip', prob=0.5),
    dict(type='PackSegInputs'),
]
# 1,000 iterations x batch 8 / 367 frames = 22 epochs
train_dataloader = dict(batch_size=8, dataset=dict(pipeline=train_pipeline))
iterations = 1000
train_cfg = dict(max_iters=iterations, val_interval=250)
param_scheduler = [
    dict(type='LinearLR', start_factor=0.01, by_epoch=False, begin=0, end=50),
    dict(type='PolyLR', eta_min=1e-6, power=0.9, by_epoch=False, begin=50, end=iterations),
]
default_hooks = dict(logger=dict(interval=25), checkpoint=dict(interval=250))
