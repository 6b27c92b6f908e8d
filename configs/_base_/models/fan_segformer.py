# SegFormer's head on FAN-S-Hybrid, as published for segmentation: both last maps are at 1/16.
_base_ = 'mmseg::_base_/models/segformer_mit-b0.py'

norm_cfg = dict(type='SyncBN', requires_grad=True)  # one image on each GPU is too few for plain BN
model = dict(
    backbone=dict(_delete_=True, type='FAN', arch='hybrid-small', norm_cfg=norm_cfg),
    # channels at strides 4, 8, 16 and 16; 768 is the published embedding width
    decode_head=dict(in_channels=[128, 256, 384, 384], channels=768, norm_cfg=norm_cfg),
)
