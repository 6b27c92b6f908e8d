# Mask R-CNN on FAN-S-Hybrid, as published for detection: the last map is a strided convolution of the final tokens.
_base_ = 'mmdet::_base_/models/mask-rcnn_r50_fpn.py'

model = dict(
    backbone=dict(
        _delete_=True,
        type='FAN',
        arch='hybrid-small',
        last_map='downsample',
        drop_path_rate=0.3,  # the same in every block
        with_cp=True,  # the 1/16 maps of an 800x1333 image have 4,200 tokens
    ),
    # channels at strides 4, 8, 16 and 32
    neck=dict(in_channels=[128, 256, 384, 768]),
)
