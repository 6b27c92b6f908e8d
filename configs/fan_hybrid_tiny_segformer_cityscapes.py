# FAN-T-Hybrid: SegFormer's head on Cityscapes.
_base_ = ['_base_/backbones/fan_hybrid_tiny.py', '_base_/recipes/segformer_cityscapes.py']

model = _base_.segformer
