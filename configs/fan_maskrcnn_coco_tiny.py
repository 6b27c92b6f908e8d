# FAN-T-Hybrid.
_base_ = './fan_maskrcnn_coco.py'

checkpoint = f'{_base_.checkpoints}/fan_hybrid_tiny.pth.tar'
model = dict(
    backbone=dict(arch='hybrid-tiny', init_cfg=dict(checkpoint=checkpoint)),
    neck=dict(in_channels=[128, 256, 192, 768]),
)
