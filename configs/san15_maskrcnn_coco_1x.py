# SAN-15: Mask R-CNN on COCO, 12 epochs.
_base_ = ['_base_/backbones/san15.py', '_base_/recipes/maskrcnn_coco_1x.py']

model = _base_.detector
