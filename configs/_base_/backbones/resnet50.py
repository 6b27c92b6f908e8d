# ResNet-50 of mmdet and mmseg. Detectors keep its first stages and all its norms as they are, as is usual.
backbone = dict(type='ResNet', depth=50, init_cfg=dict(type='Pretrained', checkpoint='torchvision://resnet50'))
detector = dict(
    backbone=dict(backbone, frozen_stages=1, norm_eval=True),
    neck=dict(in_channels=[256, 512, 1024, 2048]),
)
segformer = dict(
    # norms of their own here: one image on each GPU is too few for plain BN
    backbone=dict(backbone, norm_cfg=dict(type='SyncBN', requires_grad=True), norm_eval=False),
    decode_head=dict(in_channels=[256, 512, 1024, 2048]),
)
upernet = dict(**segformer, auxiliary_head=dict(in_channels=1024))
del backbone
