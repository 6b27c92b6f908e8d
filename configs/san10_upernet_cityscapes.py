# SAN-10: UPerNet on Cityscapes.
_base_ = ['_base_/backbones/san10.py', '_base_/recipes/upernet_cityscapes.py']

model = _base_.upernet
