# ResNet-50: Cascade Mask R-CNN on COCO, 36 epochs.
_base_ = ['_base_/backbones/resnet50.py', '_base_/recipes/cascade_coco_3x.py']

model = _base_.detector
