# FAN-L-Hybrid.
_base_ = './fan_upernet_cityscapes.py'

checkpoint = f'{_base_.checkpoints}/fan_hybrid_large_in22k_1k.pth.tar'
model = dict(
    backbone=dict(arch='hybrid-large', init_cfg=dict(checkpoint=checkpoint)),
    decode_head=dict(in_channels=[128, 256, 480, 480]),
    auxiliary_head=dict(in_channels=480),
)
