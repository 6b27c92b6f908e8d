# SAN-10, pairwise. Its authors' checkpoints have no address to load them from: get one from
# https://github.com/hszhao/SAN, then --cfg-options +model.backbone.init_cfg.type=Pretrained
# +model.backbone.init_cfg.checkpoint=FILE
backbone = dict(
    type='SAN',
    arch='san10',
    out_indices=(1, 2, 3, 4),  # strides 4 to 32
    norm_cfg=dict(type='SyncBN'),  # one or two images on each GPU are too few for plain BN
)
detector = dict(
    backbone=dict(backbone, with_cp=True),  # 1.9 GiB for a 512x1024 image, 3.0 GiB without
    neck=dict(in_channels=[256, 512, 1024, 2048]),
)
upernet = dict(
    backbone=backbone,
    decode_head=dict(in_channels=[256, 512, 1024, 2048]),
    auxiliary_head=dict(in_channels=1024),
)
del backbone
