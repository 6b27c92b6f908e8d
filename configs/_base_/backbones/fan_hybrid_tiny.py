# FAN-T-Hybrid.
_base_ = './fan_hybrid_small.py'

checkpoint = f'{_base_.checkpoints}/fan_hybrid_tiny.pth.tar'
backbone = dict(arch='hybrid-tiny', init_cfg=dict(checkpoint=checkpoint))
detector = dict(backbone=backbone, neck=dict(in_channels=[128, 256, 192, 768]))
segformer = dict(backbone=backbone, decode_head=dict(in_channels=[128, 256, 192, 192]))
upernet = dict(**segformer, auxiliary_head=dict(in_channels=192))
del backbone
