# FAN-Swin-S: SegFormer's head on Cityscapes.
_base_ = ['_base_/backbones/fan_swin_small.py', '_base_/recipes/segformer_cityscapes.py']

model = _base_.segformer
