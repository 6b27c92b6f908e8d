# A small FAN-Hybrid with Mask R-CNN on CamVid, from scratch: about half an hour on two cores.
_base_ = [
    '_base_/models/fan_mini_mask_rcnn.py',
    '_base_/datasets/camvid_instance.py',
    '_base_/schedules/from_scratch.py',
    '_base_/detection_runtime.py',
]

model = dict(roi_head=dict(bbox_head=dict(num_classes=3), mask_head=dict(num_classes=3)))
# 900 iterations x batch 4 / 367 frames = 10 epochs
train_dataloader = dict(batch_size=4, sampler=dict(type='InfiniteSampler'))
iterations = 900
optim_wrapper = dict(optimizer=dict(lr=3e-3))
train_cfg = dict(max_iters=iterations, val_interval=300)
param_scheduler = [
    dict(type='LinearLR', start_factor=0.01, by_epoch=False, begin=0, end=50),
    dict(type='PolyLR', eta_min=1e-6, power=0.9, by_epoch=False, begin=50, end=iterations),
]
default_hooks = dict(logger=dict(interval=25), checkpoint=dict(by_epoch=False, interval=300))
log_processor = dict(by_epoch=False)
