# Swin-T of mmdet and mmseg, with the drop path of their own configs.
backbone = dict(type='SwinTransformer')
detector = dict(
    backbone=dict(
        backbone,
        drop_path_rate=0.2,
        convert_weights=True,
        init_cfg=dict(
            type='Pretrained',
            checkpoint='https://github.com/SwinTransformer/storage/releases/download/v1.0.0/swin_tiny_patch4_window7_224.pth',
        ),
    ),
    neck=dict(in_channels=[96, 192, 384, 768]),
)
segformer = dict(
    backbone=dict(
        backbone,
        drop_path_rate=0.3,
        init_cfg=dict(  # the same weights under mmseg's names
            type='Pretrained',
            checkpoint='https://download.openmmlab.com/mmsegmentation/v0.5/pretrain/swin/swin_tiny_patch4_window7_224_20220317-1cdeb081.pth',
        ),
    ),
    decode_head=dict(in_channels=[96, 192, 384, 768]),
)
upernet = dict(**segformer, auxiliary_head=dict(in_channels=384))
del backbone
