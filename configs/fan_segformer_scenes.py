# A small FAN-Hybrid with SegFormer's head on the embedded street scenes, from scratch: a few minutes on two cores.
_base_ = [
    '_base_/models/fan_mini_segformer.py',
    '_base_/datasets/scenes_semantic.py',
    '_base_/schedules/from_scratch.py',
    '_base_/segmentation_runtime.py',
]

model = dict(data_preprocessor=dict(size=(192, 256)), decode_head=dict(num_classes=11))
# 320 iterations x batch 8 / 1,600 scenes = 1.6 epochs
iterations = 320
train_cfg = dict(max_iters=iterations, val_interval=iterations)
param_scheduler = [
    dict(type='LinearLR', start_factor=0.01, by_epoch=False, begin=0, end=20),
    dict(type='PolyLR', eta_min=1e-6, power=0.9, by_epoch=False, begin=20, end=iterations),
]
default_hooks = dict(logger=dict(interval=20), checkpoint=dict(interval=80))
