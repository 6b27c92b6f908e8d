# FAN-S-ViT: all maps at 1/16.
_base_ = './fan.py'

checkpoint = f'{_base_.checkpoints}/fan_vit_small.pth.tar'
backbone = dict(type='FAN', arch='vit-small', init_cfg=dict(type='Pretrained', checkpoint=checkpoint))
norm_cfg = dict(type='SyncBN')  # one image on each GPU is too few for plain BN
detector = dict(
    backbone=dict(
        backbone,
        out_indices=(3,),
        drop_path_rate=0.3,  # the same in every block, as in the published detectors
        with_cp=True,  # the 1/16 maps of an 800x1333 image have 4,200 tokens
    ),
    neck=dict(_delete_=True, type='SimpleFeaturePyramid', in_channels=384),
)
# tokens after blocks 4, 7 and 11 and the final ones, as published
segformer = dict(backbone=dict(backbone, norm_cfg=norm_cfg), decode_head=dict(in_channels=[384] * 4))
# the pyramid's 256 channels at strides 4, 8, 16 and 32: UPerNet joins maps of different sizes
upernet = dict(
    backbone=dict(backbone, norm_cfg=norm_cfg, out_indices=(3,)),
    neck=dict(type='SimpleFeaturePyramid', in_channels=384, num_outs=4),
    decode_head=dict(in_channels=[256] * 4),
    auxiliary_head=dict(in_channels=256),
)
del backbone, norm_cfg
