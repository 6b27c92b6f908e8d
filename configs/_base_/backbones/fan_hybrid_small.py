# FAN-S-Hybrid.
_base_ = './fan.py'

checkpoint = f'{_base_.checkpoints}/fan_hybrid_small.pth.tar'
backbone = dict(type='FAN', arch='hybrid-small', init_cfg=dict(type='Pretrained', checkpoint=checkpoint))
# channels at strides 4, 8, 16 and 32; the last map is a strided convolution of the final tokens, as published
detector = dict(
    backbone=dict(
        backbone,
        last_map='downsample',
        drop_path_rate=0.3,  # the same in every block
        with_cp=True,  # the 1/16 maps of an 800x1333 image have 4,200 tokens
    ),
    neck=dict(in_channels=[128, 256, 384, 768]),
)
# channels at strides 4, 8, 16 and 16; the last map is the final tokens, as published
segformer = dict(
    backbone=dict(backbone, norm_cfg=dict(type='SyncBN')),  # one image on each GPU is too few for plain BN
    decode_head=dict(in_channels=[128, 256, 384, 384]),
)
upernet = dict(**segformer, auxiliary_head=dict(in_channels=384))
del backbone
