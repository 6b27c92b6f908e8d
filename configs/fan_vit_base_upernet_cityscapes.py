# FAN-B-ViT: UPerNet on Cityscapes.
_base_ = ['_base_/backbones/fan_vit_base.py', '_base_/recipes/upernet_cityscapes.py']

model = _base_.upernet
