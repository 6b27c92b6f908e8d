# SegFormer's head on a FAN-Hybrid small enough to train from scratch on a CPU.
_base_ = '../heads/segformer.py'

norm_cfg = dict(type='BN', requires_grad=True)
model = dict(
    backbone=dict(
        type='FAN',
        arch=dict(stem='hybrid', stem_depths=(1, 2), stem_dims=(32, 64), embed_dims=96, depth=4, num_heads=4),
        norm_cfg=norm_cfg,
    ),
    # mmseg's head: its norms help where all begins from scratch
    decode_head=dict(type='SegformerHead', in_channels=[32, 64, 96, 96], channels=96, norm_cfg=norm_cfg),
)
