# SegFormer's head, for a backbone that the config names.
_base_ = 'mmseg::_base_/models/segformer_mit-b0.py'

model = dict(
    backbone=dict(_delete_=True),
    decode_head=dict(channels=768),  # the published embedding width
)
