# FAN-L-Hybrid: SegFormer's head on Cityscapes.
_base_ = ['_base_/backbones/fan_hybrid_large.py', '_base_/recipes/segformer_cityscapes.py']

model = _base_.segformer
