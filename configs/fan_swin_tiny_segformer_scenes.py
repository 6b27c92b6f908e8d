# FAN-Swin-T with SegFormer's head on the embedded street scenes, from scratch: half an hour on one core.
_base_ = [
    '_base_/backbones/fan_swin_tiny.py',
    '_base_/heads/segformer.py',
    '_base_/datasets/scenes_semantic.py',
    '_base_/schedules/from_scratch.py',
    '_base_/segmentation_runtime.py',
]

norm_cfg = dict(type='BN', requires_grad=True)
model = _base_.segformer
model.data_preprocessor = dict(size=(192, 256))
model.backbone.update(norm_cfg=norm_cfg, drop_path_rate=0.0, init_cfg=None)
# mmseg's head: its norms help where all begins from scratch
model.decode_head.update(type='SegformerHead', channels=128, num_classes=11, norm_cfg=norm_cfg)
# 500 iterations x batch 4 / 1,600 scenes = 1.25 epochs
train_dataloader = dict(batch_size=4)
iterations = 500
optim_wrapper = dict(optimizer=dict(lr=1e-3))
train_cfg = dict(max_iters=iterations, val_interval=125)
param_scheduler = [
    dict(type='LinearLR', start_factor=0.01, by_epoch=False, begin=0, end=50),
    dict(type='PolyLR', eta_min=1e-6, power=0.9, by_epoch=False, begin=50, end=iterations),
]
default_hooks = dict(logger=dict(interval=20), checkpoint=dict(interval=125))
