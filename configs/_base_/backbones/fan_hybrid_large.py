# FAN-L-Hybrid.
_base_ = './fan_hybrid_small.py'

# trained on ImageNet-22K, then 1K; one from 1K alone was never published
checkpoint = f'{_base_.checkpoints}/fan_hybrid_large_in22k_1k.pth.tar'
backbone = dict(arch='hybrid-large', init_cfg=dict(checkpoint=checkpoint))
detector = dict(backbone=backbone, neck=dict(in_channels=[128, 256, 480, 768]))
segformer = dict(backbone=backbone, decode_head=dict(in_channels=[128, 256, 480, 480]))
upernet = dict(**segformer, auxiliary_head=dict(in_channels=480))
del backbone
