# FAN-Swin-S: more blocks of the same widths.
_base_ = './fan_swin_tiny.py'

checkpoint = f'{_base_.checkpoints}/swin_small_patch4_window7_224.pth'
backbone = dict(arch='small', init_cfg=dict(checkpoint=checkpoint))
detector = dict(backbone=backbone)
segformer = dict(backbone=backbone)
upernet = dict(backbone=backbone)
del backbone
