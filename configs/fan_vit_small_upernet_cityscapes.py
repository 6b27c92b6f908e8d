# FAN-S-ViT: UPerNet on Cityscapes.
_base_ = ['_base_/backbones/fan_vit_small.py', '_base_/recipes/upernet_cityscapes.py']

model = _base_.upernet
