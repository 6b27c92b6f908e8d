# Mask R-CNN with an FPN; the config gives the backbone and its channels.
_base_ = 'mmdet::_base_/models/mask-rcnn_r50_fpn.py'

model = dict(backbone=dict(_delete_=True), neck=dict(in_channels=None))
