# FAN-S-ViT: SegFormer's head on ADE20K.
_base_ = ['_base_/backbones/fan_vit_small.py', '_base_/recipes/segformer_ade20k.py']

model = _base_.segformer
