# FAN-T-Hybrid.
_base_ = './fan_segformer_cityscapes.py'

checkpoint = f'{_base_.checkpoints}/fan_hybrid_tiny.pth.tar'
model = dict(
    backbone=dict(arch='hybrid-tiny', init_cfg=dict(checkpoint=checkpoint)),
    decode_head=dict(in_channels=[128, 256, 192, 192]),
)
