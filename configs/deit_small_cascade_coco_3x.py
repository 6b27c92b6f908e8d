# DeiT-S: Cascade Mask R-CNN on COCO, 36 epochs.
_base_ = ['_base_/backbones/deit_small.py', '_base_/recipes/cascade_coco_3x.py']

model = _base_.detector
