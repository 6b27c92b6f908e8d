# FAN-B-ViT: Mask R-CNN on COCO, 36 epochs.
_base_ = ['_base_/backbones/fan_vit_base.py', '_base_/recipes/maskrcnn_coco_3x.py']

model = _base_.detector
