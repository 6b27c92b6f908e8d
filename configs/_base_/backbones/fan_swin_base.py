# FAN-Swin-B.
_base_ = './fan_swin_tiny.py'

checkpoint = f'{_base_.checkpoints}/swin_base_patch4_window7_224.pth'
backbone = dict(arch='base', drop_path_rate=0.3, init_cfg=dict(checkpoint=checkpoint))
detector = dict(backbone=backbone, neck=dict(in_channels=[128, 256, 512, 1024]))
segformer = dict(backbone=backbone, decode_head=dict(in_channels=[128, 256, 512, 1024]))
upernet = dict(**segformer, auxiliary_head=dict(in_channels=512))
del backbone
