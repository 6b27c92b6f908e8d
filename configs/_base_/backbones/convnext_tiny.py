# ConvNeXt-T of timm, with the drop path of its authors' dense models.
backbone = dict(
    type='TimmBackbone',
    model_name='convnext_tiny',
    out_indices=(0, 1, 2, 3),
    options=dict(drop_path_rate=0.4),
    init_cfg=dict(type='Pretrained', checkpoint='https://dl.fbaipublicfiles.com/convnext/convnext_tiny_1k_224_ema.pth'),
)
detector = dict(backbone=backbone, neck=dict(in_channels=[96, 192, 384, 768]))
segformer = dict(backbone=backbone, decode_head=dict(in_channels=[96, 192, 384, 768]))
upernet = dict(**segformer, auxiliary_head=dict(in_channels=384))
del backbone
