# 12 epochs x 117,266 images / batch 16 (8 GPUs x 2) = 88,000 iterations; all else as in the 36.
_base_ = './coco_36e.py'

param_scheduler = [
    dict(type='LinearLR', start_factor=0.001, by_epoch=False, begin=0, end=1000),
    dict(type='MultiStepLR', by_epoch=True, begin=0, end=12, milestones=[8, 11], gamma=0.1),
]
train_cfg = dict(max_epochs=12)
