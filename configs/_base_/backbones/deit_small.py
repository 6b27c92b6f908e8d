# DeiT-S, a ViT-S, of timm: all maps at 1/16.
backbone = dict(
    type='TimmBackbone',
    model_name='deit_small_patch16_224',
    # any height and width
    options=dict(dynamic_img_size=True, dynamic_img_pad=True, drop_path_rate=0.1),
    init_cfg=dict(
        type='Pretrained', checkpoint='https://dl.fbaipublicfiles.com/deit/deit_small_patch16_224-cd65a155.pth'
    ),
)
detector = dict(
    backbone=dict(backbone, out_indices=(11,), with_cp=True),
    neck=dict(_delete_=True, type='SimpleFeaturePyramid', in_channels=384),
)
# every third block, as in mmseg's ViT
segformer = dict(backbone=dict(backbone, out_indices=(2, 5, 8, 11)), decode_head=dict(in_channels=[384] * 4))
# the pyramid's 256 channels at strides 4, 8, 16 and 32: UPerNet joins maps of different sizes
upernet = dict(
    backbone=dict(backbone, out_indices=(11,)),
    neck=dict(type='SimpleFeaturePyramid', in_channels=384, num_outs=4),
    decode_head=dict(in_channels=[256] * 4),
    auxiliary_head=dict(in_channels=256),
)
del backbone
