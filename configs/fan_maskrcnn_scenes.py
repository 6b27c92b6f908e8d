# A small FAN-Hybrid with Mask R-CNN on the embedded street scenes, from scratch: some minutes on two cores.
_base_ = [
    '_base_/models/fan_mini_mask_rcnn.py',
    '_base_/datasets/scenes_instance.py',
    '_base_/schedules/from_scratch.py',
    '_base_/detection_runtime.py',
]

model = dict(roi_head=dict(bbox_head=dict(num_classes=5), mask_head=dict(num_classes=5)))
# 640 iterations x batch 4 / 1,600 scenes = 1.6 epochs
train_dataloader = dict(batch_size=4, sampler=dict(type='InfiniteSampler'))
iterations = 640
optim_wrapper = dict(optimizer=dict(lr=3e-3))
train_cfg = dict(max_iters=iterations, val_interval=iterations)
param_scheduler = [
    dict(type='LinearLR', start_factor=0.01, by_epoch=False, begin=0, end=50),
    dict(type='PolyLR', eta_min=1e-6, power=0.9, by_epoch=False, begin=50, end=iterations),
]
default_hooks = dict(logger=dict(interval=20, log_metric_by_epoch=False), checkpoint=dict(by_epoch=False, interval=80))
log_processor = dict(by_epoch=False)
