# FAN-T-Hybrid: SegFormer's head on ADE20K.
_base_ = ['_base_/backbones/fan_hybrid_tiny.py', '_base_/recipes/segformer_ade20k.py']

model = _base_.segformer
