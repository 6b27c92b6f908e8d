# ConvNeXt-T: SegFormer's head on Cityscapes.
_base_ = ['_base_/backbones/convnext_tiny.py', '_base_/recipes/segformer_cityscapes.py']

model = _base_.segformer
