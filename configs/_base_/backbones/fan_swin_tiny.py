# FAN-Swin-T. No checkpoint of it was published: it begins with what an ordinary Swin has in common with it.
checkpoints = 'https://github.com/SwinTransformer/storage/releases/download/v1.0.0'
checkpoint = f'{checkpoints}/swin_tiny_patch4_window7_224.pth'
backbone = dict(
    type='FANSwin', arch='tiny', drop_path_rate=0.2, init_cfg=dict(type='Pretrained', checkpoint=checkpoint)
)
detector = dict(
    backbone=dict(backbone, with_cp=True),  # channel attention has 384 channels at 1/4
    neck=dict(in_channels=[96, 192, 384, 768]),
)
segformer = dict(
    backbone=dict(backbone, norm_cfg=dict(type='SyncBN')),  # one image on each GPU is too few for plain BN
    decode_head=dict(in_channels=[96, 192, 384, 768]),
)
upernet = dict(**segformer, auxiliary_head=dict(in_channels=384))
del backbone
