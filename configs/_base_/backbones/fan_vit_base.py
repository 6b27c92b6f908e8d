# FAN-B-ViT.
_base_ = './fan_vit_small.py'

checkpoint = f'{_base_.checkpoints}/fan_vit_base.pth.tar'
backbone = dict(arch='vit-base', init_cfg=dict(checkpoint=checkpoint))
neck = dict(in_channels=448)
detector = dict(backbone=backbone, neck=neck)
segformer = dict(backbone=backbone, decode_head=dict(in_channels=[448] * 4))
upernet = dict(backbone=backbone, neck=neck)
del backbone, neck
