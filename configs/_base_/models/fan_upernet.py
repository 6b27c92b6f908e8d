# UPerNet on FAN-S-Hybrid; both last maps are at 1/16.
_base_ = 'mmseg::_base_/models/upernet_r50.py'

norm_cfg = dict(type='SyncBN', requires_grad=True)  # one image on each GPU is too few for plain BN
model = dict(
    pretrained=None,
    backbone=dict(_delete_=True, type='FAN', arch='hybrid-small', norm_cfg=norm_cfg),
    # channels at strides 4, 8, 16 and 16
    decode_head=dict(in_channels=[128, 256, 384, 384], norm_cfg=norm_cfg),
    auxiliary_head=dict(in_channels=384, norm_cfg=norm_cfg),
)
