# SegFormer's head; the config gives the backbone and its channels.
_base_ = 'mmseg::_base_/models/segformer_mit-b0.py'

model = dict(
    backbone=dict(_delete_=True),
    # As published: projections without norm and activation, unlike mmseg's, to 768 channels, the width of SegFormer-B2
    # to B5.
    decode_head=dict(type='LinearSegformerHead', in_channels=None, channels=768),
)
