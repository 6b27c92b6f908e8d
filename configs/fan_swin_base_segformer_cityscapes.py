# FAN-Swin-B: SegFormer's head on Cityscapes.
_base_ = ['_base_/backbones/fan_swin_base.py', '_base_/recipes/segformer_cityscapes.py']

model = _base_.segformer
