# FAN-L-Hybrid.
_base_ = './fan_maskrcnn_coco.py'

checkpoint = f'{_base_.checkpoints}/fan_hybrid_large_in22k_1k.pth.tar'
model = dict(
    backbone=dict(arch='hybrid-large', init_cfg=dict(checkpoint=checkpoint)),
    neck=dict(in_channels=[128, 256, 480, 768]),
)
