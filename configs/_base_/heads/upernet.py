# UPerNet; the config gives the backbone and its channels.
_base_ = 'mmseg::_base_/models/upernet_r50.py'

model = dict(
    pretrained=None,
    backbone=dict(_delete_=True),
    decode_head=dict(in_channels=None),
    auxiliary_head=dict(in_channels=None),
)
