# MiT-B2, SegFormer's backbone, of mmseg.
backbone = dict(
    type='mmseg.MixVisionTransformer',
    embed_dims=64,
    num_layers=[3, 4, 6, 3],
    num_heads=[1, 2, 5, 8],
    qkv_bias=True,
    drop_path_rate=0.1,
    init_cfg=dict(
        type='Pretrained',
        checkpoint='https://download.openmmlab.com/mmsegmentation/v0.5/pretrain/segformer/mit_b2_20220624-66e8bf70.pth',
    ),
)
detector = dict(
    backbone=dict(backbone, with_cp=True),  # attention matrices at 1/4
    neck=dict(in_channels=[64, 128, 320, 512]),
)
segformer = dict(backbone=backbone, decode_head=dict(in_channels=[64, 128, 320, 512]))
upernet = dict(**segformer, auxiliary_head=dict(in_channels=320))
del backbone
