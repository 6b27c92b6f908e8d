# FAN-Swin-B: SegFormer's head on ADE20K.
_base_ = ['_base_/backbones/fan_swin_base.py', '_base_/recipes/segformer_ade20k.py']

model = _base_.segformer
