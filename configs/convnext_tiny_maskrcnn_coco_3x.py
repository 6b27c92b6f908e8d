# ConvNeXt-T: Mask R-CNN on COCO, 36 epochs.
_base_ = ['_base_/backbones/convnext_tiny.py', '_base_/recipes/maskrcnn_coco_3x.py']

model = _base_.detector
