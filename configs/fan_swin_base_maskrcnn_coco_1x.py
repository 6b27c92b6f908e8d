# FAN-Swin-B: Mask R-CNN on COCO, 12 epochs.
_base_ = ['_base_/backbones/fan_swin_base.py', '_base_/recipes/maskrcnn_coco_1x.py']

model = _base_.detector
