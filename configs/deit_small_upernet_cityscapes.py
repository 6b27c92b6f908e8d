# DeiT-S: UPerNet on Cityscapes.
_base_ = ['_base_/backbones/deit_small.py', '_base_/recipes/upernet_cityscapes.py']

model = _base_.upernet
