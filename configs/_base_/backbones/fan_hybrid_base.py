# FAN-B-Hybrid.
_base_ = './fan_hybrid_small.py'

checkpoint = f'{_base_.checkpoints}/fan_hybrid_base.pth.tar'
backbone = dict(arch='hybrid-base', init_cfg=dict(checkpoint=checkpoint))
detector = dict(backbone=backbone, neck=dict(in_channels=[128, 256, 448, 768]))
segformer = dict(backbone=backbone, decode_head=dict(in_channels=[128, 256, 448, 448]))
upernet = dict(**segformer, auxiliary_head=dict(in_channels=448))
del backbone
