# FAN-S-ViT: SegFormer's head on Cityscapes.
_base_ = ['_base_/backbones/fan_vit_small.py', '_base_/recipes/segformer_cityscapes.py']

model = _base_.segformer
